package policy_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/internal/policy"
	"github.com/openworkerai/openworker/model"
)

// textFile is a stored text file.
func textFile(name, text string) model.Part {
	return model.Part{ID: "s-a" + name, Name: name, MediaType: "text/plain", Data: []byte(text), Size: int64(len(text))}
}

// binary is a stored file that is no text, as the host describes it.
func binary(name, mediaType string) model.Part {
	return model.Part{ID: "s-a" + name, Name: name, MediaType: mediaType, Size: 3_000_000}
}

// at is a guardrail at some points.
func at(name string, c check, points ...guard.Point) guard.Guardrail {
	return guard.Guardrail{Name: name, Points: points, Check: c}
}

func withParts(parts ...model.Part) policy.Input {
	return policy.Input{Request: model.Request{Model: "m", Items: []model.Item{{Kind: model.UserItem, Parts: parts}}}}
}

func TestTheSameTextInAFileAndBesideItAreUnitsOfTheirOwn(t *testing.T) {
	t.Parallel()
	var units []guard.Unit
	blocksFile := func(_ context.Context, u guard.Unit) (guard.Verdict, error) {
		if u.File == "b.md" {
			return guard.Redact("not in "+u.File, "of the file"), nil
		}
		return guard.Allow(), nil
	}
	guards := []guard.Guardrail{looks("g", record(&units, blocksFile))}
	in := withParts(model.Part{Text: "same"}, textFile("a.md", "same"), textFile("b.md", "same"), model.Part{Text: "same"}, textFile("b.md", "same"), textFile("b.md", "other"))
	var memo policy.Memo
	for _, round := range []string{"first", "remembered"} {
		units = nil
		got, verdicts, err := policy.ScreenRequest(t.Context(), guards, guard.Context{}, in, &memo)
		if err != nil {
			t.Fatal(err)
		}
		var seen, sent []string
		for _, u := range units {
			seen = append(seen, u.File+":"+u.Text)
		}
		for _, p := range got.Items[0].Parts {
			sent = append(sent, p.Name+":"+p.Text+string(p.Data))
		}
		want := []string{":same", "a.md:same", "b.md:same", "b.md:other"}
		if round == "remembered" {
			want = nil
		}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("%s: seen: %s", round, diff)
		}
		if diff := cmp.Diff([]string{":same", "a.md:same", "b.md:not in b.md", ":same", "b.md:not in b.md", "b.md:not in b.md"}, sent); diff != "" {
			t.Errorf("%s: sent: %s", round, diff)
		}
		if diff := cmp.Diff([]api.GuardVerdict{{Name: "g", Point: "model_input", Action: "redact", Reason: "of the file", File: "b.md"}}, verdicts); diff != "" {
			t.Errorf("%s: verdicts: %s", round, diff)
		}
	}
}

func TestAMemoHoldsNoTextOfAFile(t *testing.T) {
	t.Parallel()
	const files, size = 64, 100_000
	guards := []guard.Guardrail{looks("g", says(guard.Allow()))}
	var memo policy.Memo
	in := withParts(model.Part{Text: "see"})
	for i := range files {
		part := textFile(fmt.Sprint(i), strings.Repeat(string(rune('a'+i%26)), size)+fmt.Sprint(i))
		in.Request.Items[0].Parts = append(in.Request.Items[0].Parts, part)
	}
	if _, _, err := policy.ScreenRequest(t.Context(), guards, guard.Context{}, in, &memo); err != nil {
		t.Fatal(err)
	}
	if held := policy.Held(&memo); held > 10_000 {
		t.Errorf("after a request with files of %d bytes the memo holds texts of %d bytes", files*size, held)
	}
	if n := policy.Known(&memo); n != files+1 {
		t.Errorf("%d units are remembered, want %d", n, files+1)
	}
	if _, _, err := policy.ScreenRequest(t.Context(), guards, guard.Context{}, withParts(model.Part{Text: "see"}), &memo); err != nil || policy.Known(&memo) != 1 {
		t.Errorf("after a request without the files %d units are remembered, %v", policy.Known(&memo), err)
	}
}

func TestAFileOfARequestIsLookedAtUpToItsBound(t *testing.T) {
	t.Parallel()
	for size, fits := range map[int]bool{api.MaxGuardedBytes - 1: true, api.MaxGuardedBytes: true, api.MaxGuardedBytes + 1: false, api.MaxFileBytes: false} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			var units []guard.Unit
			guards := []guard.Guardrail{looks("g", record(&units, says(guard.Allow())))}
			got, verdicts, err := policy.ScreenRequest(t.Context(), guards, guard.Context{}, withParts(textFile("big.log", strings.Repeat("x", size))), nil)
			if fits {
				if err != nil || len(units) != 1 || len(units[0].Text) != size || len(got.Items[0].Parts[0].Data) != size {
					t.Errorf("%d units, %v", len(units), err)
				}
				return
			}
			if err == nil || err.Code != api.CodeGuardrailFailed || !strings.Contains(err.Message, fmt.Sprintf(`the file "big.log" pass at model_input: the text has %d bytes`, size)) || len(units) > 0 {
				t.Fatalf("%d units, %v", len(units), err)
			}
			if diff := cmp.Diff(map[string]string{"guardrail": "g", "point": "model_input", "file": "big.log", "bytes": fmt.Sprint(size), "item": "0"}, err.Details); diff != "" {
				t.Error(diff)
			}
			if len(verdicts) != 1 || verdicts[0].File != "big.log" || verdicts[0].Action != "fail" {
				t.Errorf("%+v", verdicts)
			}
		})
	}
}

func TestAFileThatCannotBeLookedIntoIsSentUnderNoGuardrailOfRequests(t *testing.T) {
	t.Parallel()
	image := model.Part{ID: "s-a1", Name: "a\u202e.png", MediaType: model.TypePNG, Data: []byte{1, 2, 3}, Size: 3}
	latin := model.Part{Name: "a\u202e.png", MediaType: "text/plain", Data: []byte("caf\xe9"), Size: 4}
	half := model.Part{Name: "a\u202e.png", MediaType: "text/plain", Data: []byte("half"), Size: 8}
	for name, test := range map[string]struct {
		point guard.Point
		file  model.Part
		code  api.Code
		want  string
	}{
		"an image, where requests are looked at":             {guard.ModelInput, image, api.CodeUninspectableContent, "a file of type image/png"},
		"a text file in another encoding":                    {guard.ModelInput, latin, api.CodeUninspectableContent, "a file of type text/plain"},
		"a text file of which a part is missing":             {guard.ModelInput, half, api.CodeGuardrailFailed, "only 4 of its 8 bytes are here"},
		"a text file of which all is missing":                {guard.ModelInput, model.Part{Name: "a.png", MediaType: "text/plain", Size: 8}, api.CodeGuardrailFailed, "only 0 of its 8 bytes are here"},
		"an image, where messages are looked at":             {guard.UserInput, image, "", ""},
		"an image, where results are looked at":              {guard.ToolResult, image, "", ""},
		"an image, where answers are looked at":              {guard.ModelOutput, image, "", ""},
		"another encoding, where only answers are looked at": {guard.ModelOutput, latin, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := withParts(model.Part{Text: "see"}, test.file)
			got, verdicts, err := policy.ScreenRequest(t.Context(), []guard.Guardrail{at("g", says(guard.Allow()), test.point)}, guard.Context{}, in, nil)
			if test.code == "" {
				if diff := cmp.Diff(in.Request.Items, got.Items); diff != "" || err != nil || verdicts != nil {
					t.Errorf("%v, %+v %s", err, verdicts, diff)
				}
				return
			}
			if err == nil || err.Code != test.code || !strings.Contains(err.Message, `item 0 of the request (user): part 1: guardrail g let nothing of the file "a.png" pass at model_input: `) ||
				!strings.Contains(strings.ReplaceAll(err.Message, "this file", "a file"), test.want) {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff(map[string]string{"guardrail": "g", "point": "model_input", "file": "a.png", "item": "0"}, err.Details); diff != "" {
				t.Error(diff)
			}
			if len(verdicts) != 1 || verdicts[0].Action != "fail" || verdicts[0].File != "a.png" || verdicts[0].Name != "g" || len(got.Items) > 0 {
				t.Errorf("%+v, %+v", verdicts, got)
			}
		})
	}
}

func TestTheFirstGuardrailOfRequestsIsNamed(t *testing.T) {
	t.Parallel()
	allow := says(guard.Allow())
	for name, test := range map[string]struct {
		guards []guard.Guardrail
		want   string
	}{
		"without guardrails":             {nil, ""},
		"with those of other points":     {[]guard.Guardrail{at("a", allow, guard.UserInput, guard.ToolResult, guard.ModelOutput)}, ""},
		"with one behind another":        {[]guard.Guardrail{at("a", allow, guard.UserInput), at("b", allow, guard.ModelOutput, guard.ModelInput), looks("c", allow)}, "b"},
		"with one that looks everywhere": {[]guard.Guardrail{looks("a", allow)}, "a"},
	} {
		if got, ok := policy.Inspects(test.guards); got != test.want || ok != (test.want != "") {
			t.Errorf("%s: got %q, %v", name, got, ok)
		}
	}
}

// A reviewer and a summary read of a file what it is, and nothing of what is in it, so nothing in it needs a look.
func TestADocumentDescribesFilesAndHasNoneOfTheirBodies(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("SECRET", api.MaxGuardedBytes)
	parts := []model.Part{
		{Text: "see"}, {ID: "s-a1", Name: "a.png", MediaType: model.TypePNG, Size: 4_000_000_000},
		{Name: "b.txt", MediaType: "text/plain", Data: []byte("SECRET body")}, {ID: "s-a2", Name: "c.txt", MediaType: "text/plain", Data: []byte(large), Size: int64(len(large))},
	}
	items := []model.Item{{Kind: model.UserItem, Parts: parts}}
	var units []guard.Unit
	guards := []guard.Guardrail{looks("g", record(&units, replaces("SECRET", "***")))}
	summary, said, err := policy.ScreenSummary(t.Context(), guards, guard.Context{}, policy.SummaryInput{Items: items}, nil, nil)
	if err != nil || said != nil {
		t.Fatal(err, said)
	}
	review, said, err := policy.ScreenReview(t.Context(), guards, guard.Context{}, policy.ReviewInput{Action: policy.Action{Tool: "t", Arguments: "{}"}, Conversation: items}, nil, nil)
	if err != nil || said != nil {
		t.Fatal(err, said)
	}
	asked, err := policy.ReviewRequest(review, "m", 9)
	if err != nil {
		t.Fatal(err)
	}
	want := `"files":[{"name":"a.png","type":"image/png","bytes":4000000000},{"name":"b.txt","type":"text/plain","bytes":11},{"name":"c.txt","type":"text/plain","bytes":768000}]`
	for name, text := range map[string]string{"review": asked.Items[0].Text, "summary": policy.SummaryRequest(summary, "m", 9).Items[0].Text} {
		if !strings.Contains(text, want) || strings.Contains(text, "SECRET") || strings.Contains(text, "s-a") {
			t.Errorf("the document of a %s is %.600s", name, text)
		}
	}
	for _, u := range units {
		if u.File != "" || u.Text != "see" && u.Text != "{}" {
			t.Errorf("a guardrail was shown %.80q of %q", u.Text, u.File)
		}
	}
}

func TestAGuardrailThatFailsOverAFileLetsNothingOfItPass(t *testing.T) {
	t.Parallel()
	onFile := func(c check) check {
		return func(ctx context.Context, u guard.Unit) (guard.Verdict, error) {
			if u.File == "" {
				return guard.Allow(), nil
			}
			return c(ctx, u)
		}
	}
	waits := func(ctx context.Context, _ guard.Unit) (guard.Verdict, error) {
		<-ctx.Done()
		return guard.Allow(), ctx.Err()
	}
	for name, test := range map[string]struct {
		check check
		want  string
	}{
		"a panic with the text":          {func(_ context.Context, u guard.Unit) (guard.Verdict, error) { panic(u.Text) }, "it panicked with a value of type string"},
		"the end of its goroutine":       {func(context.Context, guard.Unit) (guard.Verdict, error) { runtime.Goexit(); return guard.Allow(), nil }, "it ended its goroutine"},
		"no answer":                      {waits, "it did not answer within 10s"},
		"an error":                       {func(context.Context, guard.Unit) (guard.Verdict, error) { return guard.Allow(), context.Canceled }, "it failed: context canceled"},
		"no verdict":                     {says(guard.Verdict{}), "it gave no verdict"},
		"a redaction that is no text":    {says(guard.Redact("\xff\xfe", "")), "not UTF-8"},
		"a redaction with a NUL":         {says(guard.Redact("PNG\x00", "")), "a NUL at byte 3"},
		"a redaction that is too large":  {says(guard.Redact(strings.Repeat("x", api.MaxGuardedBytes+1), "")), "its redaction has 128001 bytes"},
		"a verdict with another action":  {says(guard.Verdict{Action: "keep"}), "an action that there is not"},
		"an answer of nothing but a nil": {nil, "it panicked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				guards := []guard.Guardrail{looks("g", onFile(test.check))}
				parts := []model.Part{{Text: "see"}, textFile("a.txt", "SECRET"), {Text: "bye"}}
				start := time.Now()
				_, inRequest, asRequest := policy.ScreenRequest(t.Context(), guards, guard.Context{}, withParts(parts...), nil)
				kept, inMessage, asMessage := policy.ScreenMessage(t.Context(), guards, guard.Context{}, parts)
				if took := time.Since(start); took > 2*api.DefaultCheckTimeout {
					t.Errorf("it took %v", took)
				}
				if kept != nil {
					t.Errorf("%+v passed", kept)
				}
				for where, got := range map[string]struct {
					err      *api.Error
					verdicts []api.GuardVerdict
				}{"model_input": {asRequest, inRequest}, "user_input": {asMessage, inMessage}} {
					if got.err == nil || got.err.Code != api.CodeGuardrailFailed || got.err.Details["file"] != "a.txt" || !strings.Contains(got.err.Message, test.want) ||
						!strings.Contains(got.err.Message, `guardrail g let nothing of the file "a.txt" pass at `+where) || strings.Contains(fmt.Sprint(got), "SECRET") {
						t.Errorf("%s: got %#v", where, got.err)
					}
					if len(got.verdicts) != 1 || got.verdicts[0].File != "a.txt" || got.verdicts[0].Action != "fail" || got.verdicts[0].Point != where {
						t.Errorf("%s: got %+v", where, got.verdicts)
					}
				}
			})
		})
	}
}
