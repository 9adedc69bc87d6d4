package conformance_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/transport/rpc"
)

// rawStdio is `openworker stdio` as a program of any language speaks to it: arguments go over the wire as the scenario has
// them.
type rawStdio struct {
	app     *application
	runtime *runtimeProcess
}

func newRawStdio(app *application) face { return &rawStdio{app: app} }

func (r *rawStdio) open(ctx context.Context, h host) error {
	if err := r.end(); err != nil {
		return err
	}
	process, err := startRuntime(h.state, r.answer)
	if err != nil {
		return err
	}
	r.runtime = process
	_, err = process.request(ctx, "initialize", map[string]any{
		"protocolVersions": []int{1},
		"client":           map[string]string{"name": "conformance", "version": "1"},
		"providers":        h.providers,
		"credentials":      map[string]any{"source": "memory", "secrets": r.app.scenario.Credentials},
		"actionCheck":      r.app.scenario.ActionCheck != nil,
		"scratchDir":       h.scratch,
	})
	if err != nil {
		return errors.Join(err, r.end())
	}
	return nil
}

func (r *rawStdio) register(what registration) error {
	ctx := context.Background()
	tools := []any{}
	for name, t := range what.tools {
		declared := map[string]any{"name": name, "description": t.Description, "inputSchema": t.schema(), "timeoutMs": t.TimeoutMs, "inspect": t.Inspect != nil}
		if t.Effect != "" {
			declared["effect"] = t.Effect
		}
		tools = append(tools, declared)
	}
	if len(tools) > 0 {
		if _, err := r.runtime.request(ctx, "tool/register", map[string]any{"tools": tools}); err != nil {
			return err
		}
	}
	for _, g := range what.guardrails {
		if _, err := r.runtime.request(ctx, "guardrail/register", map[string]any{"name": g.Name, "points": g.Points, "timeoutMs": g.TimeoutMs}); err != nil {
			return err
		}
	}
	for _, h := range what.hooks {
		if _, err := r.runtime.request(ctx, "hook/register", map[string]any{
			"name": h.Name, "timeoutMs": h.TimeoutMs, "beforeModel": h.BeforeModel != nil, "toolResult": h.ToolResult != nil,
		}); err != nil {
			return err
		}
	}
	return nil
}

// close leaves the process there: it refuses what comes then, until its input ends.
func (r *rawStdio) close(ctx context.Context) error {
	_, err := r.runtime.request(ctx, "shutdown", map[string]any{})
	return err
}

func (r *rawStdio) kill() error {
	process := r.runtime
	r.runtime = nil
	if err := process.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = process.wait() // it was killed
	return nil
}

func (r *rawStdio) end() error {
	if r.runtime == nil {
		return nil
	}
	process := r.runtime
	r.runtime = nil
	_ = process.stdin.Close() // its end is looked at
	return process.wait()
}

func (r *rawStdio) call(ctx context.Context, method string, with any) (any, error) {
	args, _ := with.(map[string]any)
	switch method {
	case doUpload:
		file, err := into[upload](with)
		if err != nil {
			return nil, err
		}
		return r.upload(ctx, file)
	case doCompact:
		var ref api.RunReference
		if err := r.ask(ctx, "session/compact", with, &ref); err != nil {
			return nil, err
		}
		return r.runtime.request(ctx, "run/result", map[string]any{"session": ref.Session, "run": ref.Run})
	case rpc.MethodSubmit:
		if _, attaches := args["attach"]; attaches {
			m, err := into[message](with)
			if err != nil {
				return nil, err
			}
			if with, err = r.attach(ctx, m); err != nil {
				return nil, err
			}
		}
	}
	return r.runtime.request(ctx, method, with)
}

// ask decodes an answer.
func (r *rawStdio) ask(ctx context.Context, method string, params, result any) error {
	answer, err := r.runtime.request(ctx, method, params)
	if err != nil {
		return err
	}
	return json.Unmarshal(answer, result)
}

// attach makes a message of a text and files: short files go within it, longer ones are uploaded before.
func (r *rawStdio) attach(ctx context.Context, m message) (any, error) {
	blocks := m.Content
	if m.Text != "" {
		blocks = append([]api.ContentBlock{api.TextBlock(m.Text)}, blocks...)
	}
	for _, file := range m.Attach {
		if base64.StdEncoding.DecodedLen(len(file.Data)) > api.UploadChunkBytes {
			file.Session = m.Session
			stored, err := r.upload(ctx, file)
			if err != nil {
				return nil, err
			}
			blocks = append(blocks, stored.Block(file.Name))
			continue
		}
		kind := api.BlockDocument
		if strings.HasPrefix(file.MediaType, "image/") {
			kind = api.BlockImage
		}
		blocks = append(blocks, api.ContentBlock{Type: kind, Name: file.Name, Source: &api.Source{Type: api.SourceBase64, MediaType: file.MediaType, Data: file.Data}})
	}
	return api.Submission{Session: m.Session, Content: blocks, Options: m.Options}, nil
}

// upload sends a file in its chunks, those that are missing.
func (r *rawStdio) upload(ctx context.Context, file upload) (api.Upload, error) {
	var up api.Upload
	data, err := base64.StdEncoding.DecodeString(file.Data)
	if err != nil {
		return up, err
	}
	announced := map[string]any{"name": file.Name, "size": len(data), "sha256": sum(data)}
	if file.MediaType != "" {
		announced["mediaType"] = file.MediaType
	}
	if err := r.ask(ctx, "upload/begin", map[string]any{"session": file.Session, "file": announced}, &up); err != nil {
		return up, err
	}
	for _, i := range up.Missing {
		chunk := data[i*api.UploadChunkBytes : min((i+1)*api.UploadChunkBytes, len(data))]
		if _, err := r.runtime.request(ctx, "upload/chunk", map[string]any{"session": file.Session, "upload": up.ID,
			"chunk": map[string]any{"index": i, "sha256": sum(chunk), "data": chunk}}); err != nil {
			return up, err
		}
	}
	if up.State != api.UploadOpen {
		return up, nil
	}
	return up, r.ask(ctx, "upload/commit", map[string]any{"session": file.Session, "upload": up.ID}, &up)
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

func (r *rawStdio) follow(ctx context.Context, q api.FollowQuery, until func(api.Event) bool) error {
	var subscription rpc.Subscription
	if err := r.ask(ctx, "event/subscribe", q, &subscription); err != nil {
		return err
	}
	for {
		var batch rpc.Batch
		if err := r.ask(ctx, "event/next", subscription, &batch); err != nil {
			return err
		}
		for _, event := range batch.Events {
			if until(event) {
				_, err := r.runtime.request(ctx, "event/unsubscribe", subscription)
				return err
			}
		}
		if batch.End {
			return nil
		}
	}
}

// answer does what the runtime asks of the application.
func (r *rawStdio) answer(ctx context.Context, method string, params json.RawMessage) (any, error) {
	switch method {
	case "tool/run", "tool/inspect":
		var c rpc.ToolCall
		if err := strictly(params, &c); err != nil {
			return nil, err
		}
		own := call{Tool: c.Tool, Arguments: c.Arguments, CallID: c.CallID, Attempt: c.Attempt, Session: c.Session.Session, Run: c.Run, Agent: c.Agent.Name,
			Workspace: c.Workspace, Origin: c.Origin, Owner: c.Owner, Metadata: c.Metadata}
		if method == "tool/inspect" {
			found := r.app.inspect(own)
			return map[string]string{"outcome": found.Outcome, "output": found.Output}, nil
		}
		output, err := r.app.run(ctx, own)
		if err != nil {
			return nil, api.Errorf(api.CodeToolFailed, "%w", err)
		}
		return map[string]string{"output": output}, nil
	case "guardrail/check":
		var u rpc.Unit
		if err := strictly(params, &u); err != nil {
			return nil, err
		}
		v, err := r.app.judge(ctx, r.app.guards(u.Guardrail), u.Text)
		return v.wire(), err
	case "action/check":
		var a rpc.Action
		if err := strictly(params, &a); err != nil {
			return nil, err
		}
		v, err := r.app.judge(ctx, r.app.scenario.ActionCheck, string(a.Arguments))
		return v.wire(), err
	case "hook/beforeModel":
		var c rpc.ModelCall
		if err := strictly(params, &c); err != nil {
			return nil, err
		}
		v, err := r.app.judge(ctx, r.app.hook(c.Hook).BeforeModel, wireTexts(c.Request))
		return map[string]any{"veto": v.action == "block", "reason": v.reason}, err
	case "hook/toolResult":
		var t rpc.ToolResult
		if err := strictly(params, &t); err != nil {
			return nil, err
		}
		output, err := r.app.changed(ctx, t.Hook, t.Output)
		return map[string]string{"output": output}, err
	}
	return nil, fmt.Errorf("the runtime asks for %s, which was not registered", method)
}

func (v verdict) wire() any {
	return map[string]string{"action": v.action, "text": v.text, "reason": v.reason}
}

// wireTexts are what a model is sent, as one text.
func wireTexts(r rpc.ModelRequest) string {
	out := []string{r.Instructions}
	for _, i := range r.Items {
		out = append(out, i.Text, string(i.Arguments), i.Output)
		for _, p := range i.Parts {
			out = append(out, p.Text, string(p.Data))
		}
	}
	return strings.Join(out, "\n")
}
