package chatui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/plain"
)

// grants lists the permissions of the session, or takes one back.
func (m *chat) grants(argument string) tea.Cmd {
	verb, tool, _ := strings.Cut(argument, " ")
	tool = strings.TrimSpace(tool)
	if argument != "" && (verb != "revoke" || tool == "") {
		return m.say("/grants lists the permissions, and /grants revoke TOOL takes one back", true)
	}
	if m.conversation.ID() == "" {
		m.note("no session yet, and no permissions")
		return nil
	}
	conversation := m.conversation
	return func() tea.Msg {
		state, err := conversation.State(m.ctx)
		if err != nil || tool == "" {
			return grantsMsg{state.Grants, err}
		}
		for _, grant := range state.Grants {
			if grant.Tool == tool {
				return revokedMsg{conversation.Revoke(m.ctx, tool)} // the event that says so is the answer
			}
		}
		if err := conversation.Revoke(m.ctx, tool); err != nil {
			return revokedMsg{err}
		}
		return unheldMsg(tool)
	}
}

func (m *chat) showGrants(msg grantsMsg) {
	switch {
	case msg.err != nil:
		m.report(msg.err)
	case len(msg.grants) == 0:
		m.note("nobody has allowed a tool for the whole session")
	default:
		lines := []string{"always allowed in this session; /grants revoke TOOL takes it back:"}
		for _, grant := range msg.grants {
			text := plain.Brief(grant.Tool)
			if grant.By != "" {
				text += ", by " + plain.Brief(grant.By)
			}
			lines = append(lines, text)
		}
		m.table(lines)
	}
}

// unheldMsg names a tool for which there was no permission to take back.
type unheldMsg string

func (m *chat) unheld(tool unheldMsg) {
	m.note(fmt.Sprintf("there is no permission for %q; /grants lists those that there are", plain.Brief(string(tool))))
}

func revokedNote(d api.GrantRevoked) string {
	text := "asked about again: " + plain.Brief(d.Tool)
	if d.By != "" {
		text += ", by " + plain.Brief(d.By)
	}
	return text
}
