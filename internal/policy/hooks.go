package policy

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
)

// BeforeModel shows a request to the hooks that want it, in order, until one refuses it (GR4): hook_vetoed with the
// hook's reason, hook_failed where a hook has no answer, cancelled where ctx ended. The first two have the detail hook.
// The hooks see no credential.
func BeforeModel(ctx context.Context, hooks []guard.Hook, call guard.ModelCall) *api.Error {
	call.Request.Credential, call.Request.Encoded = "", nil
	// What a hook appends to its own copy must not land in ours.
	call.Request.Items, call.Request.Tools = slices.Clip(call.Request.Items), slices.Clip(call.Request.Tools)
	for i := range hooks {
		h := &hooks[i]
		if h.BeforeModel == nil {
			continue
		}
		seen := call
		seen.Metadata = maps.Clone(call.Metadata)
		veto, fault, cancelled := attempt(ctx, h.Timeout, func(ctx context.Context) (*guard.VetoError, error) {
			err := h.BeforeModel(ctx, seen)
			var veto *guard.VetoError
			if errors.As(err, &veto) {
				kept := *veto // and not a pointer that is nil or that the hook goes on changing
				return &kept, nil
			}
			return nil, err
		})
		switch {
		case cancelled != nil:
			return cancelled
		case fault != "":
			return hookFailed(h, "before the model call", fault)
		case veto != nil:
			return api.Errorf(api.CodeHookVetoed, "hook %s refused the request: %s", h.Name, reasonOr(veto.Reason)).With("hook", h.Name)
		}
	}
	return nil
}

// AfterTool gives a tool's result to the hooks that want it, in order, each the output of the one before, and returns
// the last one's (GR4). Without such hooks that is the tool's. err is hook_failed, with the detail hook, where a hook
// has no answer, and cancelled where ctx ended; the output is "" then. The caller bounds the output.
func AfterTool(ctx context.Context, hooks []guard.Hook, result guard.ToolOutput) (output string, err *api.Error) {
	for i := range hooks {
		h := &hooks[i]
		if h.ToolResult == nil {
			continue
		}
		seen := result
		seen.Metadata, seen.Arguments = maps.Clone(result.Metadata), bytes.Clone(result.Arguments)
		next, fault, cancelled := attempt(ctx, h.Timeout, func(ctx context.Context) (string, error) { return h.ToolResult(ctx, seen) })
		switch {
		case cancelled != nil:
			return "", cancelled
		case fault != "":
			return "", hookFailed(h, "after the tool "+result.Tool, fault)
		}
		result.Output = next
	}
	return result.Output, nil
}

func hookFailed(h *guard.Hook, when, fault string) *api.Error {
	return api.Errorf(api.CodeHookFailed, "hook %s failed %s: %s", h.Name, when, fault).With("hook", h.Name)
}

// Ask makes the application's own check of an action (AP2). denied says that it refused, and reason why. err is
// check_failed where it has no answer, a redaction among them, which is nobody's refusal (AP6), arguments_invalid with what
// to correct where it could not be given them as they are, and cancelled where ctx ended. A nil check denies nothing. A
// timeout of 0 is [api.DefaultCheckTimeout].
func Ask(ctx context.Context, deny guard.Deny, action guard.ToolAction, timeout time.Duration) (reason string, denied bool, err *api.Error) {
	if deny == nil {
		return "", false, nil
	}
	action.Metadata, action.Arguments = maps.Clone(action.Metadata), bytes.Clone(action.Arguments)
	type answer struct {
		guard.Verdict
		unfit string
	}
	verdict, fault, cancelled := attempt(ctx, timeout, func(ctx context.Context) (answer, error) {
		v, err := deny(ctx, action)
		var unfit *guard.ArgumentsError
		if errors.As(err, &unfit) {
			return answer{unfit: Plain(unfit.Message, maxReason)}, nil
		}
		return answer{Verdict: v}, err
	})
	switch {
	case cancelled != nil:
		return "", false, cancelled
	case verdict.unfit != "":
		return "", false, api.Errorf(api.CodeArgumentsInvalid, "%s", verdict.unfit)
	case fault != "":
	case verdict.Action == guard.ActionAllow:
		return "", false, nil
	case verdict.Action == guard.ActionBlock:
		return Plain(verdict.Reason, maxReason), true, nil
	case verdict.Action == "":
		fault = "it gave no verdict"
	default:
		fault = "its verdict is neither Allow nor Block"
	}
	return "", false, api.Errorf(api.CodeCheckFailed, "the application's check of %s let nothing pass: %s", action.Tool, fault)
}

func reasonOr(reason string) string {
	if reason = Plain(reason, maxReason); reason == "" {
		return "it gave no reason"
	}
	return reason
}
