//go:build !unix

package chatui

import tea "charm.land/bubbletea/v2"

// suspend does nothing where programs cannot be suspended.
func (m *chat) suspend() tea.Cmd { return nil }
