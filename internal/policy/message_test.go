package policy_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/internal/policy"
	"github.com/openworkerai/openworker/model"
	"pgregory.net/rapid"
)

func TestEachBlockOfAMessageIsAUnit(t *testing.T) {
	t.Parallel()
	given := func() []model.Part {
		return []model.Part{{Text: "a SECRET"}, textFile("b.env", "KEY=SECRET"), {Text: "c"}, textFile("d.md", "d"), textFile("e.md", "KEY=SECRET")}
	}
	var units []guard.Unit
	later := at("later", says(guard.Block("it looks elsewhere")), guard.ModelInput, guard.ToolResult, guard.ModelOutput)
	guards := []guard.Guardrail{later, at("g", record(&units, replaces("SECRET", "***")), guard.UserInput)}
	parts, who := given(), guard.Context{Session: api.SessionReference{Session: "s"}, Origin: "agent", Metadata: map[string]string{"k": "v"}}
	got, verdicts, err := policy.ScreenMessage(t.Context(), guards, who, parts)
	if err != nil {
		t.Fatal(err)
	}
	var want []guard.Unit
	for _, u := range []guard.Unit{{Text: "a SECRET"}, {Text: "KEY=SECRET", File: "b.env"}, {Text: "c"}, {Text: "d", File: "d.md"}, {Text: "KEY=SECRET", File: "e.md"}} {
		u.Context, u.Point = who, guard.UserInput
		want = append(want, u)
	}
	if diff := cmp.Diff(want, units); diff != "" {
		t.Errorf("what the guardrail saw: %s", diff)
	}
	kept := given()
	kept[0].Text = "a ***"
	kept[1] = model.Part{Name: "b.env", MediaType: "text/plain", Data: []byte("KEY=***"), Size: 7}
	kept[4] = model.Part{Name: "e.md", MediaType: "text/plain", Data: []byte("KEY=***"), Size: 7}
	if diff := cmp.Diff(kept, got); diff != "" {
		t.Errorf("what is stored: %s", diff)
	}
	if diff := cmp.Diff(given(), parts); diff != "" {
		t.Errorf("the caller's parts were changed: %s", diff)
	}
	redacts := func(file string) api.GuardVerdict {
		return api.GuardVerdict{Name: "g", Point: "user_input", Action: "redact", Reason: "it holds SECRET", File: file}
	}
	if diff := cmp.Diff([]api.GuardVerdict{redacts(""), redacts("b.env"), redacts("e.md")}, verdicts); diff != "" {
		t.Errorf("the verdicts: %s", diff)
	}
}

func TestGuardrailsOfMessagesSeeAFileOneAfterTheOther(t *testing.T) {
	t.Parallel()
	guards := []guard.Guardrail{looks("a", replaces("x", "y")), looks("b", replaces("y", "z"))}
	got, verdicts, err := policy.ScreenMessage(t.Context(), guards, guard.Context{}, []model.Part{textFile("f", "x")})
	if err != nil || string(got[0].Data) != "z" || len(verdicts) != 2 || verdicts[0].File != "f" || verdicts[1].Name != "b" {
		t.Errorf("%+v, %+v, %v", got, verdicts, err)
	}
}

func TestWhatIsRedactedToNothingSaysSo(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]string{"nothing": "", "white space": " \n\t"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			guards := []guard.Guardrail{looks("g", says(guard.Redact(left, "all of it")))}
			parts := []model.Part{{Text: "a"}, textFile("b.md", "b")}
			got, _, err := policy.ScreenMessage(t.Context(), guards, guard.Context{}, parts)
			if err != nil {
				t.Fatal(err)
			}
			const marker = "[removed by a guardrail]"
			want := []model.Part{{Text: marker}, {Name: "b.md", MediaType: "text/plain", Data: []byte(marker), Size: int64(len(marker))}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("as a message: %s", diff)
			}
			req, _, err := policy.ScreenRequest(t.Context(), guards, guard.Context{}, withParts(parts...), nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, req.Items[0].Parts); diff != "" {
				t.Errorf("in a request: %s", diff)
			}
		})
	}
}

func TestABinaryFileIsTakenWhereNobodyWouldHaveToLookIntoIt(t *testing.T) {
	t.Parallel()
	for point, refused := range map[guard.Point]bool{guard.UserInput: true, guard.ModelInput: true, guard.ToolResult: false, guard.ModelOutput: false} {
		for _, mediaType := range []string{model.TypePNG, model.TypeJPEG, model.TypeGIF, model.TypeWebP, model.TypePDF} {
			t.Run(fmt.Sprintf("%s under %s", mediaType, point), func(t *testing.T) {
				t.Parallel()
				never := func(context.Context, guard.Unit) (guard.Verdict, error) {
					t.Error("a guardrail was asked")
					return guard.Allow(), nil
				}
				parts := []model.Part{{Text: "see"}, textFile("a.txt", "a"), binary("b", mediaType)}
				got, verdicts, err := policy.ScreenMessage(t.Context(), []guard.Guardrail{at("g", never, point)}, guard.Context{}, parts)
				if !refused {
					if diff := cmp.Diff(parts, got); diff != "" || err != nil || verdicts != nil {
						t.Errorf("%v, %+v %s", err, verdicts, diff)
					}
					return
				}
				want := fmt.Sprintf(`block 3: guardrail g let nothing of the file "b" pass at %s: it looks at texts, and this file of type %s is none; leave the file out, or do without the guardrail`, point, mediaType)
				if err == nil || err.Code != api.CodeUninspectableContent || err.Message != want || got != nil {
					t.Fatalf("got %v, %+v", err, got)
				}
				if diff := cmp.Diff(map[string]string{"guardrail": "g", "point": string(point), "file": "b"}, err.Details); diff != "" {
					t.Error(diff)
				}
				if len(verdicts) != 1 || verdicts[0].File != "b" || verdicts[0].Action != "fail" || verdicts[0].Point != string(point) {
					t.Errorf("%+v", verdicts)
				}
			})
		}
	}
}

func TestBinaryFilesAreNamedByTheFirstAndCounted(t *testing.T) {
	t.Parallel()
	allow := says(guard.Allow())
	long := strings.Repeat("n", api.MaxFileNameBytes)
	for name, test := range map[string]struct {
		guards []guard.Guardrail
		parts  []model.Part
		want   []string
		file   string
	}{
		"two of them, behind a text that is too large": {
			[]guard.Guardrail{at("out", allow, guard.ModelOutput), at("in", allow, guard.ModelInput), looks("all", allow)},
			[]model.Part{textFile("t", strings.Repeat("x", api.MaxGuardedBytes+1)), binary("a.pdf", model.TypePDF), {Text: "x"}, binary("b.png", model.TypePNG)},
			[]string{`block 2: guardrail in let nothing of the file "a.pdf" pass at model_input: `, "of type application/pdf is none, as 1 more of the message; leave the files out"}, "a.pdf",
		},
		"three of one name": {
			[]guard.Guardrail{looks("g", allow)},
			[]model.Part{binary("a", model.TypePNG), binary("a", model.TypePNG), binary("a", model.TypePNG)},
			[]string{`block 1: guardrail g let nothing of the file "a" pass at user_input`, "as 2 more of the message"}, "a",
		},
		"a name that hides": {
			[]guard.Guardrail{looks("g", allow)}, []model.Part{binary("gpj\u202e.\nexe", model.TypePNG)}, []string{`the file "gpj. exe" pass`}, "gpj. exe",
		},
		"a long name": {
			[]guard.Guardrail{looks("g", allow)}, []model.Part{binary(long, model.TypePNG)}, []string{`the file "` + strings.Repeat("n", 77) + `…" pass`}, long,
		},
		"what is said to be a text": {
			[]guard.Guardrail{looks("g", allow)}, []model.Part{{Name: "a.txt", MediaType: "text/plain", Data: []byte("\x89PNG\xff")}}, []string{`block 1: guardrail g let nothing of the file "a.txt" pass`}, "a.txt",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _, err := policy.ScreenMessage(t.Context(), test.guards, guard.Context{}, test.parts)
			if err == nil || err.Code != api.CodeUninspectableContent || err.Details["file"] != test.file || got != nil {
				t.Fatalf("%v, %v", err, got)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Message, want) {
					t.Errorf("the message does not say %q: %s", want, err.Message)
				}
			}
		})
	}
}

func TestABlockIsTakenUpToWhatGuardrailsLookAt(t *testing.T) {
	t.Parallel()
	text := func(size int) model.Part { return model.Part{Text: strings.Repeat("x", size)} }
	file := func(size int) model.Part { return textFile("f.log", strings.Repeat("x", size)) }
	described := func(size int) model.Part {
		return model.Part{ID: "s-a1", Name: "f.log", MediaType: "text/plain", Size: int64(size)}
	}
	const most = api.MaxGuardedBytes
	all := guard.Points()
	for name, test := range map[string]struct {
		points []guard.Point
		part   model.Part
		want   string // "" where it is taken
	}{
		"a text one byte below":                            {all, text(most - 1), ""},
		"a text at the bound":                              {all, text(most), ""},
		"a text one byte above":                            {all, text(most + 1), "block 2: guardrail g let nothing pass at user_input: the text has 128001 bytes and at most 128000"},
		"a file one byte below":                            {all, file(most - 1), ""},
		"a file at the bound":                              {all, file(most), ""},
		"a file one byte above":                            {all, file(most + 1), `block 2: guardrail g let nothing of the file "f.log" pass at user_input: the text has 128001 bytes and at most 128000`},
		"a file above of which only the description came":  {all, described(api.MaxFileBytes), `block 2: guardrail g let nothing of the file "f.log" pass at user_input: the text has 8388608 bytes`},
		"a file below of which only the description came":  {all, described(most), `block 2: guardrail g let nothing of the file "f.log" pass at user_input: only 0 of its 128000 bytes are here`},
		"a text that only requests would be refused for":   {[]guard.Point{guard.ModelInput}, text(most + 1), "block 2: guardrail g let nothing pass at model_input: the text has 128001 bytes"},
		"a file that only requests would be refused for":   {[]guard.Point{guard.ModelInput}, file(most + 1), `the file "f.log" pass at model_input: the text has 128001 bytes`},
		"a file at the bound where requests are looked at": {[]guard.Point{guard.ModelInput}, file(most), ""},
		"a large file where results are looked at":         {[]guard.Point{guard.ToolResult}, file(most + 1), ""},
		"a large text where answers are looked at":         {[]guard.Point{guard.ModelOutput}, text(most + 1), ""},
		"a large file without guardrails":                  {nil, file(most + 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var guards []guard.Guardrail
			var units []guard.Unit
			if test.points != nil {
				guards = append(guards, at("g", record(&units, says(guard.Allow())), test.points...))
			}
			parts := []model.Part{{Text: "see"}, test.part}
			got, verdicts, err := policy.ScreenMessage(t.Context(), guards, guard.Context{}, parts)
			if test.want == "" {
				if diff := cmp.Diff(parts, got); diff != "" || err != nil || verdicts != nil {
					t.Errorf("%v, %+v, %d bytes of a difference", err, verdicts, len(diff))
				}
				return
			}
			if err == nil || err.Code != api.CodeGuardrailFailed || !strings.Contains(err.Message, test.want) || got != nil || err.Details["file"] != test.part.Name || err.Details["guardrail"] != "g" {
				t.Fatalf("got %#v", err)
			}
			if len(units) > 0 && !strings.Contains(test.want, "are here") {
				t.Errorf("%d units were looked at first", len(units))
			}
			if len(verdicts) != 1 || verdicts[0].Action != "fail" || verdicts[0].File != test.part.Name {
				t.Errorf("%+v", verdicts)
			}
		})
	}
}

func TestABlockedBlockIsNamed(t *testing.T) {
	t.Parallel()
	blocks := replacesWith("SECRET", guard.Block("no keys"))
	for name, test := range map[string]struct {
		parts []model.Part
		want  string
		file  string
	}{
		"a text": {[]model.Part{textFile("a", "a"), {Text: "SECRET"}}, "block 2: guardrail g blocked the text at user_input: no keys", ""},
		"a file": {[]model.Part{{Text: "see"}, textFile("a", "a"), textFile("b", "SECRET"), textFile("c", "SECRET")}, `block 3: guardrail g blocked the file "b" at user_input: no keys`, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, verdicts, err := policy.ScreenMessage(t.Context(), []guard.Guardrail{looks("g", blocks)}, guard.Context{}, test.parts)
			if err == nil || err.Code != api.CodeGuardrailBlocked || err.Message != test.want || got != nil {
				t.Fatalf("%v, %v", err, got)
			}
			if diff := cmp.Diff([]api.GuardVerdict{{Name: "g", Point: "user_input", Action: "block", Reason: "no keys", File: test.file}}, verdicts); diff != "" {
				t.Error(diff)
			}
			if file, told := err.Details["file"]; file != test.file || told != (test.file != "") {
				t.Errorf("%v", err.Details)
			}
		})
	}
}

// replacesWith gives a verdict on each text that holds a word.
func replacesWith(word string, v guard.Verdict) check {
	return func(_ context.Context, u guard.Unit) (guard.Verdict, error) {
		if strings.Contains(u.Text, word) {
			return v, nil
		}
		return guard.Allow(), nil
	}
}

func TestRedactionsMayNotMakeTheTextsOfAMessageGrowOverTheirBound(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		given []int // sizes of the texts
		each  int   // what each is redacted to
		fits  bool
	}{
		"at the bound":                    {[]int{10, 10}, api.MaxBlockTextBytes / 2, true},
		"over it":                         {[]int{10, 10}, api.MaxBlockTextBytes/2 + 1, false},
		"a plain message that was larger": {[]int{api.MaxGuardedBytes}, api.MaxGuardedBytes, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts := []model.Part{textFile("f", "x")} // a file has bounds of its own
			for i, size := range test.given {
				parts = append(parts, model.Part{Text: strings.Repeat(fmt.Sprint(i), size)})
			}
			got, _, err := policy.ScreenMessage(t.Context(), []guard.Guardrail{looks("g", says(guard.Redact(strings.Repeat("y", test.each), "")))}, guard.Context{}, parts)
			if test.fits != (err == nil) || test.fits != (got != nil) {
				t.Fatalf("%v, %d parts", err, len(got))
			}
			if !test.fits && (err.Code != api.CodeGuardrailFailed || err.Message != "the text blocks have 32002 bytes together after their redactions; at most 32000 are taken") {
				t.Error(err)
			}
		})
	}
}

func TestAMessageWhoseCallerWentAwayBlamesNobody(t *testing.T) {
	t.Parallel()
	why := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	got, verdicts, err := policy.ScreenMessage(ctx, []guard.Guardrail{looks("hangs", hangs)}, guard.Context{}, []model.Part{textFile("f", "x")})
	if err == nil || err.Code != api.CodeCancelled || !errors.Is(err, why) || got != nil || verdicts != nil {
		t.Errorf("%v, %v, %v", got, verdicts, err)
	}
}

// Whatever a message is made of: what is let pass says nothing that was to be removed, has its files in their places
// under their names, and is taken again as it is; what cannot be looked into never passes.
func TestNoSecretOfAMessageIsStored(t *testing.T) {
	t.Parallel()
	guards := []guard.Guardrail{at("u", replaces("SECRET", "***"), guard.UserInput), at("m", replaces("SECRET", "***"), guard.ModelInput)}
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) model.Part {
			text := strings.Join(rapid.SliceOfN(word, 1, 6).Draw(t, "words"), rapid.SampledFrom([]string{"", " ", "\n", "é", `"`}).Draw(t, "between"))
			name := rapid.StringN(1, 20, api.MaxFileNameBytes).Draw(t, "name")
			switch rapid.IntRange(0, 9).Draw(t, "kind") {
			case 0:
				return binary(name, rapid.SampledFrom([]string{model.TypePNG, model.TypePDF}).Draw(t, "type"))
			case 1, 2, 3, 4:
				return textFile(name, text)
			}
			return model.Part{Text: text}
		}), 0, api.MaxBlocks).Draw(t, "parts")
		hasBinary := false
		for _, p := range parts {
			hasBinary = hasBinary || p.IsImage() || p.IsPDF()
		}
		got, verdicts, err := policy.ScreenMessage(t.Context(), guards, guard.Context{}, parts)
		if hasBinary != (err != nil) || err != nil && err.Code != api.CodeUninspectableContent {
			t.Fatalf("with binary files: %v; %v", hasBinary, err)
		}
		if err != nil {
			return
		}
		if len(got) != len(parts) || len(verdicts) > 64 {
			t.Fatalf("of %d parts there are %d, with %d verdicts", len(parts), len(got), len(verdicts))
		}
		for i, p := range got {
			was := parts[i]
			if strings.Contains(p.Text+string(p.Data), "SECRET") {
				t.Fatalf("part %d says %q", i, p.Text+string(p.Data))
			}
			if want := strings.ReplaceAll(was.Text+string(was.Data), "SECRET", "***"); p.Text+string(p.Data) != want {
				t.Fatalf("part %d is %q, want %q", i, p.Text+string(p.Data), want)
			}
			if p.Name != was.Name || p.MediaType != was.MediaType || (p.ID == "" && was.ID != "") != (string(p.Data) != string(was.Data)) || p.Size != int64(len(p.Data)) {
				t.Fatalf("of the file %+v there is %+v", was, p)
			}
		}
		again, verdicts, err := policy.ScreenMessage(t.Context(), guards, guard.Context{}, got)
		if diff := cmp.Diff(got, again); diff != "" || err != nil || verdicts != nil {
			t.Fatalf("the second time: %v, %+v %s", err, verdicts, diff)
		}
	})
}
