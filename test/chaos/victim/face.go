package main

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/test/chaos"
	"github.com/openworkerai/openworker/tool"
)

// face is what the victim's client calls: the service itself, or the Go package around one.
type face interface {
	api.Service
	Bind(tools ...tool.Tool) error
	Close(ctx context.Context) error
}

// goFace is the Go package as a program uses it.
type goFace struct {
	api.Service
	harness *openworker.Harness
}

func (f goFace) Bind(tools ...tool.Tool) error   { return f.harness.Bind(tools...) }
func (f goFace) Close(ctx context.Context) error { return f.harness.Close(ctx) }

// send sends a message of parts: with the Go package each file is uploaded first, with the service it comes within the
// message.
func (v *victim) send(ctx context.Context, c chaos.Command) (api.RunReference, error) {
	options := api.TurnOptions{SubmissionID: c.Key, WhenBusy: c.WhenBusy}
	goes, ok := v.service.(goFace)
	if !ok {
		blocks := make([]api.ContentBlock, len(c.Parts))
		for i, p := range c.Parts {
			block, err := inline(p)
			if err != nil {
				return api.RunReference{}, err
			}
			blocks[i] = block
		}
		return v.service.Submit(ctx, api.Submission{Session: c.Session, Content: blocks, Options: options})
	}
	session, err := goes.harness.Session(ctx, c.Session)
	if err != nil {
		return api.RunReference{}, err
	}
	parts := []openworker.Part{options}
	for _, p := range c.Parts {
		if p.File == "" {
			parts = append(parts, openworker.TextBlock(p.Text))
			continue
		}
		file, err := openworker.AttachmentFromFile(p.File)
		if err != nil {
			return api.RunReference{}, err
		}
		up, err := session.Upload(ctx, file) // also what Send would let ride with the message
		if err != nil {
			return api.RunReference{}, err
		}
		parts = append(parts, up.Block(""))
	}
	run, err := session.Send(ctx, "", parts...)
	if err != nil {
		return api.RunReference{}, err
	}
	return run.Reference(), nil
}

// inline is a part that brings its bytes with it.
func inline(p chaos.Part) (api.ContentBlock, error) {
	if p.File == "" {
		return api.TextBlock(p.Text), nil
	}
	data, err := os.ReadFile(p.File)
	if err != nil {
		return api.ContentBlock{}, err
	}
	mediaType := map[string]string{".pdf": "application/pdf", ".png": "image/png", ".txt": "text/plain"}[filepath.Ext(p.File)]
	return api.ContentBlock{Type: api.Block(mediaType), Name: filepath.Base(p.File), Source: &api.Source{
		Type: api.SourceBase64, MediaType: mediaType, Data: base64.StdEncoding.EncodeToString(data),
	}}, nil
}

// upload uploads one file and sends nothing.
func (v *victim) upload(ctx context.Context, c chaos.Command) (api.Upload, error) {
	goes, ok := v.service.(goFace)
	if !ok {
		return api.Upload{}, api.Errorf(api.CodeInvalidRequest, "start the victim with -face go")
	}
	session, err := goes.harness.Session(ctx, c.Session)
	if err != nil {
		return api.Upload{}, err
	}
	file, err := openworker.AttachmentFromFile(c.Parts[0].File)
	if err != nil {
		return api.Upload{}, err
	}
	return session.Upload(ctx, file)
}
