package suitehost

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/scripted"
	"github.com/openworkerai/openworker/tool"
	"github.com/openworkerai/openworker/transport/servicetest"
)

// Credential is the credential of a world, nil for one without.
func Credential(w servicetest.World) func(ctx context.Context, provider string) (secret string, ok bool, err error) {
	if w.Credential == nil {
		return nil
	}
	return func(context.Context, string) (string, bool, error) { return "secret", w.Credential(), nil }
}

// Provider is a world's model.
func Provider(w servicetest.World) model.Provider {
	facts := map[string]model.Facts{}
	for _, name := range []string{"m", "m2", "m3"} {
		if f, ok := w.Facts[name]; ok || w.ModelMax > 0 || w.Window > 0 {
			facts[name] = model.Facts{MaxOutputTokens: w.ModelMax, Window: w.Window, Refused: f.Refused,
				MaxImageBytes: f.MaxImageBytes, MaxPDFBytes: f.MaxPDFBytes, MaxFilesBytes: f.MaxFilesBytes,
				MaxImageSide: f.MaxImageSide, ManyImages: f.ManyImages, MaxImageSideMany: f.MaxImageSideMany}
		}
	}
	return scripted.New(scripted.Config{
		Name: servicetest.Provider, Facts: facts, Credential: w.Credential != nil, Forget: true,
		Script: func(req model.Request, _ int) scripted.Reply {
			if w.Model == nil {
				return scripted.Text("ok")
			}
			return reply(w.Model(prompt(req)))
		},
	})
}

func prompt(req model.Request) servicetest.Prompt {
	p := servicetest.Prompt{Model: req.Model, Instructions: req.Instructions, NoTools: req.NoTools, Max: req.MaxOutputTokens,
		Round: scripted.Round(req)}
	for _, t := range req.Tools {
		p.Tools = append(p.Tools, t.Name)
	}
	for _, it := range req.Items {
		item := servicetest.Item{Kind: string(it.Kind), Text: it.Text, CallID: it.CallID, Name: it.Name,
			Arguments: string(it.Arguments), Output: it.Output, Failed: it.Failed}
		var texts []string
		for _, part := range it.Parts {
			item.Parts = append(item.Parts, servicetest.Part{Text: part.Text, Name: part.Name, MediaType: part.MediaType, ID: part.ID, Size: part.Size, Data: part.Data})
			if part.Text != "" {
				texts = append(texts, part.Text)
			}
		}
		if it.Kind == model.UserItem && len(it.Parts) > 0 {
			p.User = strings.Join(texts, "\n\n")
		} else if it.Kind == model.UserItem {
			p.User = it.Text
		}
		p.Items = append(p.Items, item)
	}
	return p
}

func reply(a servicetest.Answer) scripted.Reply {
	r := scripted.Reply{Reasoning: a.Reasoning, Text: a.Text, Stop: model.StopReason(a.Stop), Usage: a.Usage, Panic: a.Panic}
	for _, c := range a.Calls {
		r.Calls = append(r.Calls, scripted.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	if a.Wait != nil {
		r.Wait = func(ctx context.Context) error {
			a.Wait(ctx)
			return ctx.Err()
		}
	}
	if a.Fail != "" {
		r.Err = failure(a)
	}
	return r
}

// failure is a provider's error of a code.
func failure(a servicetest.Answer) error {
	for _, kind := range []model.ErrorKind{model.KindRateLimited, model.KindOverloaded, model.KindUnreachable, model.KindCut, model.KindContext, model.KindTooLarge,
		model.KindQuota, model.KindAuth, model.KindNotFound, model.KindRefused} {
		if e := (&model.Error{Kind: kind, Message: "the provider's own words", RetryAfter: a.RetryAfter}); e.Code() == a.Fail {
			return e
		}
	}
	return fmt.Errorf("no provider error has code %s", a.Fail)
}

// Tools are a world's tools.
func Tools(w servicetest.World) []tool.Tool {
	out := make([]tool.Tool, len(w.Tools))
	for i, t := range w.Tools {
		out[i] = Tool(t)
	}
	return out
}

// Tool is a tool of a world's, which can be inspected if it can there.
func Tool(t servicetest.Tool) tool.Tool {
	if t.Inspect != nil {
		return inspector{body{t}}
	}
	return body{t}
}

// body adapts a tool of the suite.
type body struct{ servicetest.Tool }

func (b body) Declaration() api.ToolDeclaration { return b.ToolDeclaration }
func (b body) Timeout() time.Duration           { return b.Tool.Timeout }

func (b body) Run(ctx context.Context, c tool.Call) (string, error) {
	return b.Tool.Run(ctx, call(c))
}

func call(c tool.Call) servicetest.ToolCall {
	return servicetest.ToolCall{ID: c.ID, Attempt: c.Attempt, Arguments: string(json.RawMessage(c.Arguments)), Tool: c.Tool, Session: c.Session, Run: c.Run,
		Agent: c.Agent, Workspace: c.Workspace, Origin: c.Origin, Owner: c.Owner, Metadata: c.Metadata}
}

type inspector struct{ body }

func (i inspector) Inspect(ctx context.Context, c tool.Call) (tool.Inspection, error) {
	answer, output, err := i.Tool.Inspect(ctx, call(c))
	return tool.Inspection{Outcome: tool.Outcome(answer), Output: output}, err
}
