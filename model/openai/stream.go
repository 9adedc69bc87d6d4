package openai

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/internal/wire"
)

// Stream makes one attempt of one call. Its errors are *model.Error; their messages hold the provider's own
// words, at most 600 bytes of them, and never the credential or the value of a header.
func (p *Provider) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	watch, refused := wire.NewWatch(ctx, wire.WatchConfig{
		Provider: p.config.Name, Credential: req.Credential, KeyOptional: p.config.KeyOptional,
		Headers: p.config.Headers, Idle: p.config.StreamIdle,
	})
	if refused != nil {
		return model.Response{}, refused
	}
	defer watch.Stop()
	a := &answer{emit: emit}
	if err := p.attempt(watch, req, a); err != nil {
		err.Usage, err.Received = a.usage, a.received
		return model.Response{}, err
	}
	return a.response(p.config.Name, req.Model, watch.Sent()), nil
}

func (p *Provider) attempt(watch *wire.Watch, req model.Request, a *answer) *model.Error {
	body, err := p.body(req)
	if err != nil {
		return watch.Error(&model.Error{Kind: model.KindRefused, Message: err.Error(), Cause: err})
	}
	var resp *http.Response
	_, err = p.service.New(watch.Context(), responses.ResponseNewParams{},
		option.WithAPIKey(req.Credential),
		option.WithRequestBody("application/json", body),
		option.WithResponseBodyInto(&resp),
	)
	if err != nil {
		return watch.Error(err)
	}
	defer resp.Body.Close()
	for events := wire.NewEvents(resp.Body); ; {
		data, err := events.Next()
		data = bytes.TrimSpace(data)
		switch {
		case err == io.EOF, err == nil && string(data) == "[DONE]": // which is no end mark of this protocol
			return watch.Error(nil)
		case err != nil:
			return watch.Error(err)
		case len(data) == 0:
			continue
		case watch.Context().Err() != nil: // a consumer that cancels gets nothing more of what is buffered
			return watch.Error(watch.Context().Err())
		}
		ended, failed := a.take(watch, data)
		switch {
		case failed != nil:
			return watch.Error(failed)
		case ended:
			watch.DrainBody(resp.Body)
			return nil
		}
	}
}

// take adds an event to the answer and reports whether it was the last.
func (a *answer) take(watch *wire.Watch, data []byte) (ended bool, _ *model.Error) {
	e, err := decodeEvent(data)
	if err != nil {
		return false, err
	}
	switch e.Type {
	case eventItemAdded:
		return false, a.itemAdded(&e)
	case eventItemDone:
		return false, a.itemDone(&e)
	case eventText, eventRefusal:
		return false, a.piece(model.AssistantItem, &e, 0)
	case eventSummary:
		return false, a.piece(model.ReasoningItem, &e, 2*e.SummaryIndex)
	case eventReasoning:
		return false, a.piece(model.ReasoningItem, &e, 2*e.ContentIndex+1)
	case eventArguments, eventArgumentsWhole:
		return false, a.argument(&e)
	case eventCompleted, eventIncomplete, eventFailed:
		return true, a.end(watch, &e)
	case eventError:
		return false, a.fault(watch, wire.FaultOf(data))
	case "": // some gateways put an error object in place of an event
		if fault := wire.FaultOf(data); fault != nil {
			return false, a.fault(watch, fault)
		}
	}
	return false, nil
}

func (a *answer) piece(kind model.ItemKind, e *event, part int) *model.Error {
	it, err := a.under(kind, e.ItemID, e.OutputIndex)
	if err != nil {
		return err
	}
	return a.say(it, e.Delta, part)
}

func (a *answer) argument(e *event) *model.Error {
	it, err := a.under(model.ToolCallItem, e.ItemID, e.OutputIndex)
	if err != nil {
		return err
	}
	if e.Type == eventArgumentsWhole {
		return a.argue(it, e.Arguments, true)
	}
	return a.argue(it, e.Delta, false)
}

func (a *answer) fault(watch *wire.Watch, fault *wire.Fault) *model.Error {
	if fault == nil {
		fault = &wire.Fault{}
	}
	return watch.Fault(*fault, a.received)
}

// end takes the event that ends the stream.
func (a *answer) end(watch *wire.Watch, e *event) *model.Error {
	resp := e.Response
	if resp == nil {
		resp = &response{}
	}
	if resp.Usage != nil {
		a.usage = resp.Usage.usage()
	}
	status := resp.Status
	if e.Type != eventCompleted {
		status = strings.TrimPrefix(e.Type, "response.")
	}
	if status == "failed" || status == "cancelled" {
		return a.fault(watch, resp.fault())
	}
	if err := a.settle(resp.Output); err != nil {
		return err
	}
	a.stop = a.stopReason(status, resp.IncompleteDetails.Reason)
	return nil
}
