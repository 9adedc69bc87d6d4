package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/store"
)

// withFiles gives a request the bytes of its files, which are in memory for the one call only: what an actor keeps of a
// conversation are references, and no encoding of it is kept.
func (r *Runtime) withFiles(ctx context.Context, session string, req model.Request) (model.Request, *api.Error) {
	copied := false
	for i := range req.Items {
		if !slices.ContainsFunc(req.Items[i].Parts, func(p model.Part) bool { return p.MediaType != "" }) {
			continue
		}
		if !copied {
			req.Items, req.Encoded, copied = slices.Clone(req.Items), nil, true
		}
		given := req.Items[i].Parts
		req.Items[i].Parts = slices.Clone(given)
		for n := range given {
			part := &req.Items[i].Parts[n]
			if part.MediaType == "" {
				continue
			}
			data, err := ReadFile(ctx, r.cfg.Store, session, part.ID)
			if err != nil {
				return req, unreadable(part, err)
			}
			part.Data = data
		}
	}
	return req, nil
}

func unreadable(part *model.Part, err error) *api.Error {
	var known *api.Error
	code := api.CodeStoreUnavailable
	switch {
	case errors.As(err, &known):
		code = known.Code
	case errors.Is(err, store.ErrFileNotFound):
		code = api.CodeStoreCorrupt
	}
	return api.Errorf(code, "the file %q of the conversation cannot be read: %w", part.Name, err).With("file", part.Name)
}

// encoded is what may be a file's bytes in a text: all of a data URL, and of base64 by itself what is longer than any
// digest or ID, if only a line of it; in JSON its slashes may be escaped.
var encoded = regexp.MustCompile(`data:[^,\s]{0,200};base64,(?:[A-Za-z0-9+/_-]|\\/)*={0,2}|(?:[A-Za-z0-9+/_-]|\\/){72,}={0,2}`)

// withoutFiles is what a provider says, less what it may quote of a request's files (AT6).
func withoutFiles(text string) string {
	return encoded.ReplaceAllString(text, "[left out: what may be a file's content]")
}

// ReadFile reads a whole file of a session and holds it against its hash. ErrFileNotFound, and store_corrupt.
func ReadFile(ctx context.Context, s store.Files, session, id string) ([]byte, error) {
	f, err := s.File(ctx, session, id)
	if err != nil {
		return nil, err
	}
	data, sum := make([]byte, 0, f.Size), sha256.New()
	for i := range store.Chunks(f.Size) {
		chunk, err := s.Chunk(ctx, session, id, i)
		if err != nil {
			return nil, fmt.Errorf("chunk %d of %d: %w", i+1, store.Chunks(f.Size), err)
		}
		data = append(data, chunk...)
		sum.Write(chunk)
	}
	if hex.EncodeToString(sum.Sum(nil)) != f.SHA256 {
		return nil, api.Errorf(api.CodeStoreCorrupt, "the %d bytes of file %s are not those that were stored", len(data), id)
	}
	return data, nil
}
