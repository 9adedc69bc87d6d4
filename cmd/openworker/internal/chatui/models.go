package chatui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/openworkerai/openworker/api"
)

// answering is the model of the messages to come.
func (m *chat) answering() api.ModelRef {
	if m.model != nil {
		return *m.model
	}
	return m.answers
}

func (m *chat) chooseModel(argument string) tea.Cmd {
	if argument == "" {
		models := m.opt.Models
		return func() tea.Msg {
			if models == nil {
				return modelsMsg{}
			}
			names, err := models(m.ctx)
			return modelsMsg{names, err}
		}
	}
	if m.opt.ParseModel == nil {
		return m.say("another model cannot be chosen here", true)
	}
	parse, advice := m.opt.ParseModel, m.opt.Advice
	_ = m.say("looking for "+argument+" …", false) // until it is found, however long that takes
	return func() tea.Msg {                        // it may ask servers
		msg := chosenMsg{}
		if msg.model, msg.err = parse(argument); msg.err != nil && advice != nil {
			msg.advice = advice(msg.err)
		}
		return msg
	}
}

func (m *chat) chosen(msg chosenMsg) tea.Cmd {
	m.unhint()
	if msg.err != nil {
		return m.say(strings.TrimRight(msg.err.Error()+"\n"+msg.advice, "\n"), true)
	}
	m.model = &msg.model
	m.note(msg.model.String() + " answers the messages to come")
	return nil
}

// showModels lists what can be chosen; the model that answers is marked, or named where it is not in the list.
func (m *chat) showModels(msg modelsMsg) {
	if msg.err != nil {
		m.report(msg.err)
	}
	m.listed = msg.names
	current := m.answering().String()
	lines, marked := []string{"/model chooses another:"}, false
	for _, name := range msg.names {
		if name == current {
			name, marked = name+"  (answers now)", true
		}
		lines = append(lines, name)
	}
	if !marked && m.answering() != (api.ModelRef{}) {
		m.note(current + " answers")
	}
	if len(msg.names) > 0 {
		m.table(lines)
	}
}

// completeModel ends a model's name as far as it is clear: first its provider, in any case, then one of those that
// were listed. What it may go on with is shown.
func (m *chat) completeModel(typed string) tea.Cmd {
	var found []string
	offer := func(name string) {
		if len(name) >= len(typed) && strings.EqualFold(name[:len(typed)], typed) {
			found = append(found, name)
		}
	}
	if strings.Contains(typed, "/") {
		for _, name := range m.listed {
			offer(name)
		}
	} else {
		for _, name := range m.opt.Providers {
			offer(name + "/")
		}
	}
	if len(found) == 0 {
		return nil
	}
	if clear := common(found); len(clear) >= len(typed) { // else they differ in case alone
		m.input.set("/model " + clear)
	}
	if len(found) == 1 {
		return nil
	}
	return m.say(strings.Join(found, "  "), false)
}
