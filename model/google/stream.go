package google

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/internal/wire"
)

// keyHeader carries the credential.
const keyHeader = "X-Goog-Api-Key"

// Stream makes one attempt of one call. Its errors are *model.Error; their messages hold the provider's own
// words, at most 600 bytes of them, and never the credential or the value of a header.
func (p *Provider) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	watch, failure := wire.NewWatch(ctx, wire.WatchConfig{
		Provider: p.config.Name, Credential: req.Credential, KeyOptional: p.config.KeyOptional, Headers: p.config.Headers, Idle: p.config.StreamIdle,
	})
	if failure != nil {
		return model.Response{}, failure
	}
	defer watch.Stop()
	var a answer
	resp, err := p.exchange(watch, req, &a, emit)
	if err != nil {
		failure = watch.Error(err)
		failure.Usage, failure.Received = a.usage, a.received
		return model.Response{}, failure
	}
	return resp, nil
}

// exchange makes the request and reads the answer into a. Its error is for the watch to judge.
func (p *Provider) exchange(watch *wire.Watch, req model.Request, a *answer, emit func(model.Delta)) (model.Response, error) {
	httpReq, err := p.request(watch.Context(), req)
	if err != nil {
		return model.Response{}, err
	}
	httpResp, err := p.client.Do(httpReq)
	if err != nil {
		return model.Response{}, err
	}
	defer httpResp.Body.Close()
	for events := wire.NewEvents(httpResp.Body); ; {
		if err := watch.Context().Err(); err != nil {
			return model.Response{}, err
		}
		data, err := events.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return model.Response{}, err
		}
		if data = bytes.TrimSpace(data); len(data) == 0 || string(data) == "[DONE]" { // a gateway's mark
			continue
		}
		if err := a.take(watch, data, emit); err != nil {
			return model.Response{}, err
		}
	}
	if !a.ended() {
		return model.Response{}, wire.Cut(errors.New("it ended without a finishReason"))
	}
	return a.response(p.config.Name, req, watch.Sent())
}

func (p *Provider) request(ctx context.Context, req model.Request) (*http.Request, error) {
	body, err := p.encode(req)
	if err != nil {
		return nil, &model.Error{Kind: model.KindUnclassified, Message: fmt.Sprintf("the request cannot be encoded: %v", err), Cause: err}
	}
	httpReq, err := http.NewRequestWithContext(ctx, http.MethodPost, p.models+modelPath(req.Model)+":streamGenerateContent?alt=sse", bytes.NewReader(body))
	if err != nil {
		return nil, &model.Error{Kind: model.KindUnclassified, Message: fmt.Sprintf("the request has no address: %v", err), Cause: err}
	}
	for name, value := range p.config.Headers {
		httpReq.Header.Set(name, value)
	}
	httpReq.Header.Set("Content-Type", "application/json")
	httpReq.Header.Set("Accept", "text/event-stream")
	if req.Credential != "" {
		httpReq.Header.Set(keyHeader, req.Credential)
	}
	return httpReq, nil
}

// modelPath is a model's place below the version: a bare name is one of Google's models, a tuned one says so.
func modelPath(name string) string {
	for _, kind := range []string{"models/", "tunedModels/"} {
		if rest, ok := strings.CutPrefix(name, kind); ok {
			return kind + url.PathEscape(rest)
		}
	}
	return "models/" + url.PathEscape(name)
}
