package window

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/openworkerai/openworker/api"
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
)

// Requests that a server refuses for their bytes, and files that no window has room for.

// attached is a file within a message.
func attached(name, data string) api.ContentBlock {
	return api.ContentBlock{Type: api.BlockDocument, Name: name, Source: &api.Source{Type: api.SourceBase64, Data: base64.StdEncoding.EncodeToString([]byte(data))}}
}

func pdf(n, bytes int) string {
	return fmt.Sprintf("%%PDF-1.4\n%%%d%s\nstartxref\n9\n%%%%EOF\n", n, strings.Repeat("p", bytes))
}

// plainly answers each request with a word, and a summary with its headings. most bounds the body, where it is not 0.
func plainly(most int) func(modeltestserver.Request) modeltestserver.Reply {
	return func(r modeltestserver.Request) modeltestserver.Reply {
		switch {
		case most > 0 && len(r.Body) > most:
			return modeltestserver.Reply{Status: http.StatusRequestEntityTooLarge, Error: modeltestserver.Error{Message: "Request Entity Too Large"}}
		case isSummary(r):
			return modeltestserver.Reply{Text: "# Goal\nnone"}
		}
		return modeltestserver.Reply{Text: "ok"}
	}
}

// strict runs a test against a server that takes bodies of at most some bytes.
func strict(t *testing.T, provider, model string, most int, test func(w *world)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, set{provider: provider, model: model, count: every(4), answer: plainly(most)})
		defer w.close()
		test(w)
		for _, r := range w.server.Refusals() {
			if !strings.Contains(fmt.Sprint(r), "Too Large") {
				t.Errorf("refused for its form: %.300v", r)
			}
		}
	})
}

// tell sends a message with files and waits for its end.
func (w *world) tell(text string, blocks ...api.ContentBlock) api.Result {
	w.t.Helper()
	sub := api.Submission{Session: w.session, Text: text}
	if len(blocks) > 0 {
		sub.Text, sub.Content = "", append([]api.ContentBlock{api.TextBlock(text)}, blocks...)
	}
	run, err := w.Submit(w.t.Context(), sub)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.end(run)
}

// told sends a message whose turn must be completed.
func (w *world) told(text string, blocks ...api.ContentBlock) {
	w.t.Helper()
	if r := w.tell(text, blocks...); r.Status != api.StatusCompleted {
		w.t.Fatalf("%.30q is %s: %+v", text, r.Status, r.Error)
	}
}

// tooMuch sends a message whose turn must end with a code and words.
func (w *world) tooMuch(code api.Code, words string, text string, blocks ...api.ContentBlock) {
	w.t.Helper()
	r := w.tell(text, blocks...)
	if r.Status != api.StatusFailed || r.Error.Code != code || !strings.Contains(r.Error.Message, words) {
		w.t.Errorf("%.30q is %s: %+v; want %s, %q", text, r.Status, r.Error, code, words)
	}
}

// LI5, CO1: whatever makes the bodies too large leaves the context: texts for a summary, older files for their names.
func TestAServerThatBoundsBodies(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 4000)
	for _, provider := range everyProvider {
		for name, test := range map[string]struct {
			message           func(n int) (string, []api.ContentBlock)
			summaries, always bool // some are made, and nothing leaves the context without one
		}{
			"texts": {func(n int) (string, []api.ContentBlock) { return fmt.Sprint("m", n, " ", long), nil }, true, true},
			"text files": {func(n int) (string, []api.ContentBlock) {
				return "see", []api.ContentBlock{attached(fmt.Sprint(n, ".txt"), fmt.Sprint(n)+long)}
			}, false, false},
			"PDFs": {func(n int) (string, []api.ContentBlock) {
				return "see", []api.ContentBlock{attached(fmt.Sprint(n, ".pdf"), pdf(n, 20_000))}
			}, false, false},
			"texts and files": {func(n int) (string, []api.ContentBlock) {
				if n%2 == 0 {
					return long, nil
				}
				return "see", []api.ContentBlock{attached(fmt.Sprint(n, ".txt"), fmt.Sprint(n)+long)}
			}, true, false},
		} {
			t.Run(name+", "+provider, func(t *testing.T) {
				strict(t, provider, large, 100_000, func(w *world) {
					for n := range 14 {
						text, blocks := test.message(n)
						w.told(text, blocks...)
					}
					w.restart()
					w.told("and on")
					bare, summaries := 0, 0
					for _, e := range events[api.CompactionFinished](w, api.EventCompactionFinished) {
						if e.Items > 0 {
							summaries++
						} else {
							bare++
						}
					}
					if summaries+bare == 0 || test.summaries != (summaries > 0) || test.always && bare > 0 {
						t.Errorf("%d times files alone were left out, %d times older history was summarised", bare, summaries)
					}
				})
			})
		}
	}
}

// LI5, CO3: a message that is too large by itself is refused by the server, says so and names its file, and the next works.
func TestAMessageThatIsLargerThanItsBody(t *testing.T) {
	t.Parallel()
	for _, provider := range everyProvider {
		for _, before := range []int{0, 3} {
			t.Run(fmt.Sprintf("%s, behind %d", provider, before), func(t *testing.T) {
				strict(t, provider, large, 60_000, func(w *world) {
					for n := range before {
						w.told(fmt.Sprint("m", n), attached(fmt.Sprint(n, ".txt"), "a note"))
					}
					for range 2 {
						w.tooMuch(api.CodeRequestTooLarge, "", strings.Repeat("word ", 16_000))
						w.told("and on")
						w.tooMuch(api.CodeRequestTooLarge, `the file "huge.pdf"`, "read", attached("huge.pdf", pdf(0, 80_000)))
						w.told("and on")
					}
				})
			})
		}
	}
}

// CO3: a file that no window has room for is named, and the next message works.
func TestAFileThatIsLargerThanTheWindow(t *testing.T) {
	t.Parallel()
	for _, provider := range everyProvider {
		for _, name := range []string{small, unknown, tiny, wrong} {
			for _, before := range []int{0, 6} {
				t.Run(fmt.Sprintf("%s, %s, behind %d", provider, name, before), func(t *testing.T) {
					strict(t, provider, name, 0, func(w *world) {
						for n := range before {
							w.told(fmt.Sprint("m", n))
						}
						w.tooMuch(api.CodeContextExhausted, "huge.txt", "look", attached("huge.txt", strings.Repeat("word ", 20_000)))
						if provider == "OpenAI" && name != small && name != tiny { // nobody tells how small the window is: a turn or two end so
							w.tell("is it there?")
							w.tell("is it there?")
						}
						w.told("and on")
						w.told("and on")
					})
				})
			}
		}
	}
}
