//go:build linux

package chaos_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/test/chaos"
)

// importedItems are as many as an import may have, of every kind.
func importedItems() (items []api.HistoryImport) {
	for n := range api.MaxImportItems / 4 {
		id := fmt.Sprintf("c%d", n)
		items = append(items,
			api.HistoryImport{Type: api.ImportUser, Text: fmt.Sprintf("say old%d", n)},
			api.HistoryImport{Type: api.ImportToolCall, CallID: id, Name: "lookup", Arguments: fmt.Appendf(nil, `{"n":%d}`, n)},
			api.HistoryImport{Type: api.ImportToolResult, CallID: id, Output: fmt.Sprintf("found %d %s", n, strings.Repeat("x", 500))},
			api.HistoryImport{Type: api.ImportAssistant, Text: fmt.Sprintf("old%d is done", n)})
	}
	return items
}

// checkImported: there is no session, or the whole one. It reports which.
func (w *world) checkImported(items []api.HistoryImport) bool {
	w.t.Helper()
	sessions := do[api.SessionPage](w, chaos.Command{Op: "sessions"}).Sessions
	if len(sessions) == 0 {
		return false
	}
	if len(sessions) > 1 {
		w.t.Errorf("there are %d sessions", len(sessions))
	}
	var got []api.HistoryImport
	for _, item := range do[api.HistoryPage](w, chaos.Command{Op: "history", Session: sessions[0].Reference.Session}).Items {
		h := api.HistoryImport{Type: item.Type, Text: item.Text, CallID: item.CallID, Output: item.Output}
		if item.Type == api.ImportToolCall {
			h.Name, h.Arguments = item.Name, []byte(item.Arguments)
		}
		got = append(got, h)
		if len(got) == len(items) {
			break // the test's own turn
		}
	}
	if diff := cmp.Diff(items, got, cmp.AllowUnexported(api.HistoryImport{})); diff != "" {
		w.t.Errorf("the conversation differs from what was imported (-want +got):\n%s", diff)
	}
	return true
}

// A session that begins with a conversation is made with all of it or not at all. Who asks again under the same key
// gets that one session.
func TestAKillDuringAnImportLeavesTheWholeConversationOrNone(t *testing.T) {
	t.Parallel()
	items := importedItems()
	act := func(w *world) string {
		id := ""
		for id == "" {
			ref, err := call[api.SessionReference](w.victim(), chaos.Command{Op: "create", Key: "k", History: items})
			switch {
			case errors.Is(err, errDied):
				w.buried(w.proc)
				w.checkImported(items)
			case err != nil:
				w.t.Fatal(err)
			default:
				id = ref.Session
			}
		}
		if again := do[api.SessionReference](w, chaos.Command{Op: "create", Key: "k", History: items}); again.Session != id {
			w.t.Errorf("the session is %s, and asked for again %s", id, again.Session)
		}
		w.checkImported(items)
		w.finish(w.submit(id, "1", "say new", ""))
		if !w.checkImported(items) {
			w.t.Error("there is no session")
		}
		return id
	}
	creation := func(reached []string) []string {
		return reached[:slices.Index(reached, "append.after/session_created#1")+1]
	}
	killEverywhere(t, []scenario{
		{name: "with the service at responses", args: []string{"-protocol", "responses"}, among: creation, act: act},
		{name: "with the Go package at messages", args: []string{"-face", "go", "-protocol", "messages"}, among: creation, act: act},
	})
}
