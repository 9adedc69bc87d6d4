package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/internal/wire"
)

// Stream makes one attempt of one call. Its errors are *model.Error; their messages hold the provider's own
// words, at most 600 bytes of them, and never the credential or the value of a header.
func (p *Provider) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	watch, failure := wire.NewWatch(ctx, wire.WatchConfig{
		Provider: p.config.Name, Credential: req.Credential, KeyOptional: p.config.KeyOptional,
		Headers: p.config.Headers, Idle: p.config.StreamIdle,
	})
	if failure != nil {
		return model.Response{}, failure
	}
	defer watch.Stop()
	a := &answer{emit: emit}
	if err := p.attempt(watch, req, a); err != nil {
		failed := watch.Error(err)
		failed.Usage, failed.Received = a.lost(), a.received
		return model.Response{}, failed
	}
	return a.response(p.config.Name, req.Model, watch.Sent()), nil
}

// attempt makes the request and reads the answer to its end mark. Its error is for the watch to explain.
func (p *Provider) attempt(watch *wire.Watch, req model.Request, a *answer) error {
	body, err := p.body(req)
	if err != nil {
		return &model.Error{Kind: model.KindUnclassified, Message: "the request cannot be encoded: " + err.Error(), Cause: err}
	}
	var options []option.RequestOption
	if req.Credential != "" {
		options = append(options, option.WithHeader("X-Api-Key", req.Credential))
	}
	if betas := p.betas(req.Model); betas != "" {
		options = append(options, option.WithHeader(betaHeader, betas))
	}
	var resp *http.Response
	if err := p.client.Post(watch.Context(), "v1/messages", body, &resp, options...); err != nil {
		return err
	}
	defer resp.Body.Close()
	events := wire.NewEvents(resp.Body)
	for !a.done {
		if err := watch.Context().Err(); err != nil {
			return err
		}
		data, err := events.Next()
		switch {
		case err == io.EOF:
			return wire.Cut(errors.New("it ended without its end mark"))
		case err != nil:
			return err
		}
		if err := takeEvent(watch, a, data); err != nil {
			return err
		}
	}
	watch.DrainBody(resp.Body)
	return nil
}

// takeEvent adds the data of an event to the answer. Bytes that are not UTF-8 become U+FFFD, as encoding/json does.
func takeEvent(watch *wire.Watch, a *answer, data []byte) error {
	if data = bytes.TrimSpace(bytes.ToValidUTF8(data, []byte("\ufffd"))); len(data) == 0 {
		return nil
	}
	var event sdk.MessageStreamEventUnion
	if err := json.Unmarshal(data, &event); err != nil {
		return wire.Malformed("an event of the answer is not what the protocol has: " + err.Error())
	}
	if event.Type == "error" || event.Type == "" {
		if fault := wire.FaultOf(data); fault != nil {
			return watch.Fault(*fault, a.received)
		}
	}
	return a.take(&event)
}
