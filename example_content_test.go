package openworker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/scripted"
)

// The code of docs/guides/attachments.md and import.md stands in this file.

// compare sends two files behind a text.
func compare(ctx context.Context, session *openworker.Session) (openworker.Result, error) {
	screen, err := openworker.AttachmentFromFile("./screen.png")
	if err != nil {
		return openworker.Result{}, err
	}
	report, err := openworker.AttachmentFromFile("./report.pdf")
	if err != nil {
		return openworker.Result{}, err
	}
	return session.Run(ctx, "Compare this screen with the report.", screen, report)
}

// review sends texts and files in an order of its own.
func review(ctx context.Context, session *openworker.Session, screen, report *openworker.Attachment) (*openworker.Run, error) {
	return session.Send(ctx, "Look at this screen.", screen,
		openworker.TextBlock("Compare it with this report."), report,
		openworker.TextDocument("notes.md", "The report covers the previous release."),
		openworker.TurnOptions{SubmissionID: "review-42"})
}

// uploaded takes what a browser has sent to the program.
func uploaded(ctx context.Context, session *openworker.Session, name, mediaType string, body io.Reader) (openworker.Upload, error) {
	data, err := io.ReadAll(io.LimitReader(body, 8<<20+1))
	if err != nil {
		return openworker.Upload{}, err
	}
	file, err := openworker.AttachmentFromBytes(name, mediaType, data)
	if err != nil {
		return openworker.Upload{}, err // unsupported_media, attachment_too_large
	}
	return session.Upload(ctx, file) // attachment_quota_exceeded
}

// explain sends a file that the session has.
func explain(ctx context.Context, session *openworker.Session, up openworker.Upload) (openworker.Result, error) {
	return session.Run(ctx, "Explain this.", up.Block("report.pdf"))
}

// sent lists the files of a conversation. Each may be sent again as it is.
func sent(ctx context.Context, session *openworker.Session) ([]openworker.ContentBlock, error) {
	var files []openworker.ContentBlock
	for item, err := range session.History(ctx) {
		if err != nil {
			return nil, err
		}
		for _, block := range item.Content {
			if block.Source != nil { // a file, with ID, MediaType, Size and SHA256 in its Source
				files = append(files, block)
			}
		}
	}
	return files, nil
}

// migrate begins a session with a conversation from elsewhere.
func migrate(ctx context.Context, agent *openworker.Agent) (*openworker.Session, error) {
	return agent.NewSession(ctx, openworker.InitialHistory(
		openworker.HistoryImport{Type: openworker.ImportUser, Text: "Check Atlas."},
		openworker.HistoryImport{Type: openworker.ImportToolCall, CallID: "old-lookup", Name: "app__lookup", Arguments: []byte(`{"name":"Atlas"}`)},
		openworker.HistoryImport{Type: openworker.ImportToolResult, CallID: "old-lookup", Output: `{"available":false}`},
		openworker.HistoryImport{Type: openworker.ImportAssistant, Text: "Atlas is taken."},
	))
}

// move carries a conversation into a session of another agent, or of another store.
func move(ctx context.Context, from *openworker.Session, to *openworker.Agent) (*openworker.Session, error) {
	items, err := from.PortableHistory(ctx)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile("conversation.json", openworker.EncodeHistory(items), 0o600); err != nil {
		return nil, err
	}
	return to.NewSession(ctx, openworker.InitialHistory(items...))
}

func Example_content() {
	dir, err := os.MkdirTemp("", "content")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	was, err := os.Getwd()
	if err != nil {
		log.Fatal(err)
	}
	defer os.Chdir(was)
	if err := os.Chdir(dir); err != nil {
		log.Fatal(err)
	}
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		log.Fatal(err)
	}
	pdf := "%PDF-1.4\n1 0 obj\n<< >>\nendobj\ntrailer\n<< >>\nstartxref\n9\n%%EOF\n"
	for name, data := range map[string]string{"screen.png": picture.String(), "report.pdf": pdf} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			log.Fatal(err)
		}
	}

	// A model that tells what it was sent.
	tells := scripted.New(scripted.Config{Script: func(req model.Request, _ int) scripted.Reply {
		var got []string
		for _, part := range req.Items[len(req.Items)-1].Parts {
			if part.MediaType == "" {
				got = append(got, "text")
				continue
			}
			got = append(got, fmt.Sprintf("%s (%s)", part.Name, part.MediaType))
		}
		return scripted.Text(strings.Join(got, ", "))
	}})
	ctx := context.Background()
	harness, err := openworker.Open(ctx, openworker.Options{StateDir: filepath.Join(dir, "state"), ScratchDir: filepath.Join(dir, "scratch"), Providers: []openworker.Provider{tells}})
	if err != nil {
		log.Fatal(err)
	}
	defer harness.Close(ctx)
	agent, err := harness.Agent(ctx, openworker.AgentDefinition{Name: "reviewer", DefaultModel: openworker.ModelRef{Provider: "Scripted", Name: "any"}})
	if err != nil {
		log.Fatal(err)
	}
	session, err := agent.NewSession(ctx)
	if err != nil {
		log.Fatal(err)
	}

	result, err := compare(ctx, session)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Text)

	screen, err := openworker.AttachmentFromFile("screen.png")
	if err != nil {
		log.Fatal(err)
	}
	report, err := openworker.AttachmentFromBytes("report.pdf", "application/pdf", []byte(pdf))
	if err != nil {
		log.Fatal(err)
	}
	run, err := review(ctx, session, screen, report)
	if err != nil {
		log.Fatal(err)
	}
	if result, err = run.Result(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Text)

	up, err := uploaded(ctx, session, "report.pdf", "application/pdf", strings.NewReader(pdf))
	if err != nil {
		log.Fatal(err)
	}
	if result, err = explain(ctx, session, up); err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Text)

	files, err := sent(ctx, session)
	if err != nil {
		log.Fatal(err)
	}
	if result, err = session.Run(ctx, "And this?", files[0]); err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(files), "files; again:", result.Text)

	_, err = openworker.AttachmentFromBytes("holiday.mp4", "", []byte("\x00\x00\x00\x18ftypmp42"))
	fmt.Println(errors.Is(err, openworker.ErrUnsupportedMedia))

	moved, err := move(ctx, session, agent)
	if err != nil {
		log.Fatal(err)
	}
	n := 0
	for _, err := range moved.History(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		n++
	}
	fmt.Println(n, "items moved")
	if _, err := migrate(ctx, agent); err != nil {
		log.Fatal(err)
	}
	// Output:
	// text, screen.png (image/png), report.pdf (application/pdf)
	// text, screen.png (image/png), text, report.pdf (application/pdf), notes.md (text/markdown)
	// text, report.pdf (application/pdf)
	// 6 files; again: text, screen.png (image/png)
	// true
	// 8 items moved
}
