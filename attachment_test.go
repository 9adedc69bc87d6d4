package openworker_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
)

// refusal holds an error against its code, details and words.
func refusal(t *testing.T, err error, code openworker.Code, details map[string]string, words string) {
	t.Helper()
	if err == nil {
		t.Fatal("it was taken")
	}
	e := api.AsError(err)
	if e.Code != code || !strings.Contains(e.Message, words) {
		t.Errorf("got %v, want %s that says %q", e, code, words)
	}
	if diff := cmp.Diff(details, e.Details); diff != "" {
		t.Errorf("the details of %v:\n%s", e, diff)
	}
}

func TestAFileThatIsNotTakenIsNamedWithTheRuleAndTheBound(t *testing.T) {
	t.Parallel()
	large := filepath.Join(t.TempDir(), "large.txt")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 8<<20+1); err != nil {
		t.Fatal(err)
	}
	bytesOf := func(name, mediaType string, data []byte) func() (*openworker.Attachment, error) {
		return func() (*openworker.Attachment, error) {
			return openworker.AttachmentFromBytes(name, mediaType, data)
		}
	}
	for _, test := range []struct {
		name    string
		make    func() (*openworker.Attachment, error)
		code    openworker.Code
		details map[string]string
		words   string
	}{
		{"bytes that are none", bytesOf("a.txt", "", nil), openworker.CodeInvalidRequest, map[string]string{"file": "a.txt", "rule": "empty", "value": "0"}, `the file "a.txt" is not taken: the file is empty`},
		{"bytes that are one too many", bytesOf("a.txt", "", make([]byte, 8<<20+1)), openworker.CodeAttachmentTooLarge,
			map[string]string{"file": "a.txt", "rule": "file_bytes", "value": "8388609", "limit": "8388608"}, "8388609 bytes; one has at most 8388608"},
		{"a file that is one byte too large", func() (*openworker.Attachment, error) { return openworker.AttachmentFromFile(large) }, openworker.CodeAttachmentTooLarge,
			map[string]string{"file": "large.txt", "rule": "file_bytes", "value": "8388609", "limit": "8388608"}, `the file "large.txt" is not taken`},
		{"a kind that is not taken", bytesOf("a.zip", "", []byte("PK\x03\x04")), openworker.CodeUnsupportedMedia, map[string]string{"file": "a.zip", "rule": "kind"}, "a ZIP archive"},
		{"another kind than it is said to be", bytesOf("a.png", "image/png", []byte("text")), openworker.CodeUnsupportedMedia, map[string]string{"file": "a.png", "rule": "announced"}, "said to be image/png"},
		{"a name that is none", bytesOf("", "", []byte("a")), openworker.CodeInvalidRequest, map[string]string{"rule": "name_bytes", "value": "0", "limit": "255"}, "0 bytes; one has 1 to 255"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := test.make()
			refusal(t, err, test.code, test.details, test.words)
		})
	}
}

func TestWhatIsWrongWithTheWholeOfAMessageIsToldBeforeAFileIsStored(t *testing.T) {
	t.Parallel()
	harness, agent := harnessIn(t, t.TempDir())
	data := bytes.Repeat([]byte("a"), api.UploadChunkBytes+1)
	file, err := openworker.AttachmentFromBytes("a.txt", "", data)
	if err != nil {
		t.Fatal(err)
	}
	many := make([]openworker.Part, api.MaxBlocks)
	for i := range many {
		many[i] = file
	}
	for _, test := range []struct {
		name    string
		text    string
		parts   []openworker.Part
		details map[string]string
		words   string
	}{
		{"32 parts behind a text", "see", many, map[string]string{"rule": "blocks", "value": "33", "limit": "32"}, "its texts among them"},
		{"33 parts without a text", "", append(many[:32:32], file), map[string]string{"rule": "blocks", "value": "33", "limit": "32"}, "its texts among them"},
		{"a text of white space only", " \n", []openworker.Part{file}, map[string]string{"rule": "blank", "block": "1"}, "block 1: the text is white space only"},
		{"a text that is too long beside a file", strings.Repeat("a", 32_001), []openworker.Part{file}, map[string]string{"rule": "text_blocks_bytes", "value": "32001", "limit": "32000", "block": "1"}, "as a text file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			session, err := agent.NewSession(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, err = session.Send(t.Context(), test.text, test.parts...)
			refusal(t, err, openworker.CodeInvalidRequest, test.details, test.words)
			sum := sha256.Sum256(data)
			up, err := harness.Service().BeginUpload(t.Context(), session.ID(), openworker.UploadRequest{Name: "a.txt", Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:])})
			if err != nil || len(up.Missing) != 2 {
				t.Errorf("of the file's two chunks %d are missing: %v", len(up.Missing), err)
			}
		})
	}
}

func TestTheSameBytesKeepTheNameAndTypeThatTheyWereUploadedWith(t *testing.T) {
	t.Parallel()
	_, agent := harnessIn(t, t.TempDir())
	session, err := agent.NewSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	upload := func(name string) openworker.Upload {
		up, err := session.Upload(t.Context(), &openworker.Attachment{Name: name, Data: []byte("a,b\n")}) // made by hand
		if err != nil {
			t.Fatal(err)
		}
		return up
	}
	first, again := upload("a.csv"), upload("b.md")
	if first.MediaType != "text/csv" || first.Name != "a.csv" || again.ID != first.ID || again.MediaType != "text/csv" || again.Name != "a.csv" {
		t.Errorf("first %+v, then %+v", first, again)
	}
	if _, err := session.Run(t.Context(), "", again.Block("b.md"), first.Block("")); err != nil {
		t.Fatal(err)
	}
	var names []string
	for item, err := range session.History(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range item.Content {
			names = append(names, block.Name+" "+block.Source.MediaType)
		}
	}
	if diff := cmp.Diff([]string{"b.md text/csv", "a.csv text/csv"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestAConversationIsDecodedByTheRulesOfImports(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"none":             " [ ]\n",
		"some":             `[{"type":"user","text":"a"},{"type":"assistant","text":"b"}]`,
		"as it is written": string(openworker.EncodeHistory([]openworker.HistoryImport{{Type: openworker.ImportUser, Text: "a"}})),
	} {
		items, err := openworker.DecodeHistory([]byte(data))
		if err != nil || items == nil {
			t.Errorf("%s: %v, %v", name, items, err)
		}
		_, agent := harnessIn(t, t.TempDir())
		if _, err := agent.NewSession(t.Context(), openworker.InitialHistory(items...)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, test := range map[string]struct {
		data    string
		details map[string]string
		words   string
	}{
		"that begins with an answer":     {`[{"type":"assistant","text":"a"}]`, map[string]string{"item": "0", "rule": "first_item"}, "the first item must be the user's"},
		"with a call that has no result": {`[{"type":"user","text":"a"},{"type":"tool_call","callId":"1","name":"n","arguments":{}}]`, map[string]string{"item": "1", "rule": "unfinished_call"}, "has no result"},
		"with an output that is no text": {`[{"type":"user","text":"a"},{"type":"tool_result","callId":"1","output":{}}]`, map[string]string{"item": "1", "rule": "json"}, "output is an object; it must be a string"},
		"of a provider":                  {`[{"role":"user","content":"a"}]`, map[string]string{"item": "0", "rule": "type"}, `only "content", "role"`},
		"that is no array":               {`{}`, map[string]string{"rule": "json"}, "a JSON array of items"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			items, err := openworker.DecodeHistory([]byte(test.data))
			if items != nil {
				t.Errorf("got %v", items)
			}
			refusal(t, err, openworker.CodeInvalidHistory, test.details, test.words)
		})
	}
}
