package policy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
)

// actionFail is the action of a verdict that a guardrail did not give: the check failed closed.
const actionFail = "fail"

// Screened is what guardrails made of a text.
type Screened struct {
	// Text is what passes: the text itself, or the last redaction. It is "" where Err is set.
	Text string
	// Verdicts are all that were no plain allow, in order.
	Verdicts []api.GuardVerdict
	// Err says why nothing passes: guardrail_blocked, guardrail_failed, or cancelled where ctx ended. The first two
	// have the details guardrail and point, and where it is about a file, which the message names then, file.
	Err *api.Error
}

// Has reports whether a guardrail looks at a point.
func Has(guards []guard.Guardrail, point guard.Point) bool {
	return slices.ContainsFunc(guards, func(g guard.Guardrail) bool { return slices.Contains(g.Points, point) })
}

// Screen runs the guardrails that look at the unit's point, one after the other, each over what the one before let
// pass (GR1). A text over [api.MaxGuardedBytes] is shown to none, and a redaction over it is none (GR2). A redaction
// is UTF-8, and holds no NUL that was not in the text. Without such guardrails the text passes, whatever its size.
func Screen(ctx context.Context, guards []guard.Guardrail, unit guard.Unit) Screened {
	out := Screened{Text: unit.Text}
	for i := range guards {
		g := &guards[i]
		if !slices.Contains(g.Points, unit.Point) {
			continue
		}
		unit.Text = out.Text
		verdict, fault, cancelled := look(ctx, g, unit)
		if cancelled != nil {
			return Screened{Verdicts: out.Verdicts, Err: cancelled}
		}
		noted := api.GuardVerdict{Name: g.Name, Point: string(unit.Point), Action: string(verdict.Action), Reason: Plain(verdict.Reason, maxReason), File: label(unit.File)}
		if fault != "" {
			noted.Action, noted.Reason = actionFail, Plain(fault, maxReason)
		}
		if noted.Action == string(guard.ActionAllow) {
			continue
		}
		out.Verdicts = append(out.Verdicts, noted)
		if noted.Action != string(guard.ActionRedact) {
			out.Text, out.Err = "", refusal(noted)
			return out
		}
		out.Text = verdict.Text
	}
	return out
}

// Fit is [Screen] for one rule alone: a text over [api.MaxGuardedBytes] is let pass by no guardrail of a point. So it
// can be refused before it is where it would be refused for ever. No guardrail is asked.
func Fit(guards []guard.Guardrail, point guard.Point, text string) Screened {
	at := slices.IndexFunc(guards, func(g guard.Guardrail) bool { return slices.Contains(g.Points, point) })
	if at < 0 || len(text) <= api.MaxGuardedBytes {
		return Screened{Text: text}
	}
	noted := tooLarge(&guards[at], point, len(text))
	return Screened{Verdicts: []api.GuardVerdict{noted}, Err: refusal(noted).With("bytes", strconv.Itoa(len(text)))}
}

// tooLarge is the verdict on a text that is not shown to a guardrail.
func tooLarge(g *guard.Guardrail, point guard.Point, size int) api.GuardVerdict {
	return api.GuardVerdict{Name: g.Name, Point: string(point), Action: actionFail,
		Reason: fmt.Sprintf("the text has %d bytes and at most %d can be checked", size, api.MaxGuardedBytes)}
}

// look asks one guardrail. fault says why it has no verdict.
func look(ctx context.Context, g *guard.Guardrail, unit guard.Unit) (verdict guard.Verdict, fault string, cancelled *api.Error) {
	if size := len(unit.Text); size > api.MaxGuardedBytes {
		return verdict, tooLarge(g, unit.Point, size).Reason, nil
	}
	unit.Metadata = maps.Clone(unit.Metadata) // one that is left behind may still read or change it
	verdict, fault, cancelled = attempt(ctx, g.Timeout, func(ctx context.Context) (guard.Verdict, error) { return g.Check(ctx, unit) })
	if fault != "" || cancelled != nil {
		return verdict, fault, cancelled
	}
	switch verdict.Action {
	case guard.ActionAllow, guard.ActionBlock:
	case guard.ActionRedact:
		fault = unfit(unit.Text, verdict.Text)
	case "":
		fault = "it gave no verdict"
	default:
		fault = "its verdict has an action that there is not" // whose text may be what is to be kept secret
	}
	return verdict, fault, nil
}

// unfit says why a redaction cannot stand for a text, "" if it can.
func unfit(text, redaction string) string {
	switch {
	case len(redaction) > api.MaxGuardedBytes:
		return fmt.Sprintf("its redaction has %d bytes and at most %d are allowed", len(redaction), api.MaxGuardedBytes)
	case !utf8.ValidString(redaction):
		return "its redaction is not UTF-8"
	case strings.Contains(redaction, "\x00") && !strings.Contains(text, "\x00"):
		return fmt.Sprintf("its redaction holds a NUL at byte %d, where the text has none", strings.IndexByte(redaction, 0))
	}
	return ""
}

// refusal is the error of a verdict that lets nothing pass.
func refusal(v api.GuardVerdict) *api.Error {
	code, did := api.CodeGuardrailBlocked, "blocked the text"
	switch failed := v.Action == actionFail; {
	case failed && v.File != "":
		code, did = api.CodeGuardrailFailed, fmt.Sprintf("let nothing of the file %q pass", Plain(v.File, 80))
	case failed:
		code, did = api.CodeGuardrailFailed, "let nothing pass"
	case v.File != "":
		did = fmt.Sprintf("blocked the file %q", Plain(v.File, 80))
	}
	err := api.Errorf(code, "guardrail %s %s at %s: %s", v.Name, did, v.Point, reasonOr(v.Reason)).With("guardrail", v.Name).With("point", v.Point)
	if v.File != "" {
		err = err.With("file", v.File)
	}
	return err
}
