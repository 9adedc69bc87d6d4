//go:build linux

package chaos_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/test/chaos"
)

// What a user_input guardrail takes out of a message, or of a person's answer, is nowhere: in no file of the state
// directory, whenever the process dies; in no request to a model; in nothing that a victim logs.
func TestWhatAGuardrailTookOutIsInNoFileWheneverTheProcessDies(t *testing.T) {
	t.Parallel()
	reasons := map[bool]api.Answer{
		true:  {Decision: api.Answered, Answers: []string{"it is " + chaos.Secret, "red"}},
		false: {Decision: api.Skipped, Reason: "ask whoever has " + chaos.Secret},
	}
	killEverywhere(t, []scenario{{
		name: "a message and two answers", args: []string{"-guards", "secret"}, among: noCommits,
		act: func(w *world) string {
			w.model.secret = chaos.Secret
			state := w.args[1]
			w.buries = func(p *process) {
				if at := holding(w.t, state, chaos.Secret); len(at) > 0 {
					w.t.Errorf("a victim died and left the secret in %v", at)
				}
				if bytes.Contains([]byte(p.stderr.String()), []byte(chaos.Secret)) {
					w.t.Errorf("it says the secret: %s", p.stderr)
				}
			}
			w.decide = func(in api.Interaction) api.Answer { return reasons[in.Question.Multiple] }
			id := w.create("s")
			w.finish(w.submit(id, "1", "ask "+chaos.Secret, ""))
			if at := holding(w.t, state, chaos.Secret); len(at) > 0 {
				w.t.Errorf("the secret is in %v", at)
			}
			if at := holding(w.t, state, "it is [removed]"); len(at) == 0 {
				w.t.Error("what stands for the secret is in no file: the search finds nothing")
			}
			if w.model.told > 0 {
				w.t.Errorf("the model was told the secret %d times", w.model.told)
			}
			return id
		},
	}})
}

// holding lists the files under a directory that hold a text.
func holding(t *testing.T, dir, text string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			files = append(files, d.Name())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
