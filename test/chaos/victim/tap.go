package main

import (
	"context"
	"time"

	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/store/sqlite"
)

// tap is the store of a harness, which has no failpoints: it names those of the service and the runtime from outside, and
// more around what is done to files.
type tap struct {
	*sqlite.Store
	reach func(string)
}

func (s tap) Stage(ctx context.Context, session string, f store.File, now time.Time, q store.FileQuota) (store.File, error) {
	s.reach("upload.begin.before")
	defer s.reach("upload.begin.after")
	return s.Store.Stage(ctx, session, f, now, q)
}

func (s tap) PutChunk(ctx context.Context, session, id string, index int, data []byte, now time.Time) error {
	s.reach("upload.chunk.before")
	defer s.reach("upload.chunk.after")
	return s.Store.PutChunk(ctx, session, id, index, data, now)
}

func (s tap) Seal(ctx context.Context, session, id string, found store.FileType, now time.Time) (store.File, error) {
	s.reach("upload.commit.before")
	defer s.reach("upload.commit.after")
	return s.Store.Seal(ctx, session, id, found, now)
}

func (s tap) Discard(ctx context.Context, session, id string) error {
	s.reach("discard.before")
	defer s.reach("discard.after")
	return s.Store.Discard(ctx, session, id)
}

func (s tap) File(ctx context.Context, session, id string) (store.File, error) {
	s.reach("file.before")
	return s.Store.File(ctx, session, id)
}

func (s tap) Append(ctx context.Context, a store.Append) (store.Appended, error) {
	kind := a.Records[0].Kind
	s.reach("append.before/" + kind)
	defer s.reach("append.after/" + kind)
	return s.Store.Append(ctx, a)
}

// tappedProvider is tap for a provider.
type tappedProvider struct {
	model.Provider
	reach func(string)
}

func (p tappedProvider) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	p.reach("model.before")
	defer p.reach("model.after")
	return p.Provider.Stream(ctx, req, emit)
}
