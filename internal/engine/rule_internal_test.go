package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/api"
)

// The four modes. What `only` asks about is told by Tool.Ask; the host sets it for a listed tool.
var modes = []api.ApprovalMode{api.ApproveAlways, api.ApproveOnly, api.ApproveAuto, api.ApproveNever}

// Outcomes of a rule, as the table names them.
const (
	asks    = "ask"
	reviews = "review"
	checks  = "check"
)

// outcome is a ruling in one word; a ruling that says two things has two.
func outcome(r ruling) string {
	var words []string
	if r.code != "" {
		words = append(words, string(r.code))
	}
	if r.approved != "" {
		words = append(words, r.approved)
	}
	for word, on := range map[string]bool{checks: r.check, reviews: r.review, asks: r.ask} {
		if on {
			words = append(words, word)
		}
	}
	return strings.Join(words, "+")
}

// AP2: a line for each row of the order, a column for each mode.
func TestRule(t *testing.T) {
	t.Parallel()
	tool := Tool{Name: "app.write", ModelName: "write", Effect: api.SideEffect, Ask: true}
	with := func(change func(*Tool)) *Tool {
		c := tool
		change(&c)
		return &c
	}
	same := func(s string) [4]string { return [4]string{s, s, s, s} }
	code := func(c api.Code) [4]string { return same(string(c)) }
	privileged := func(p Privilege) *Tool { return with(func(t *Tool) { t.Privilege, t.Ask = p, false }) }
	for _, row := range []struct {
		name string
		c    circumstances
		want [4]string // always, only, auto, never
	}{
		{"an unknown tool is refused", circumstances{}, code(api.CodeUnknownTool)},
		{"an unknown tool is refused before its arguments are looked at", circumstances{invalid: api.CodeArgumentsInvalid}, code(api.CodeUnknownTool)},
		{"a disabled tool is refused", circumstances{tool: with(func(t *Tool) { t.Disabled = true })}, code(api.CodeToolDisabled)},
		{"a disabled tool is refused, whatever was granted", circumstances{tool: with(func(t *Tool) { t.Disabled = true }), granted: true}, code(api.CodeToolDisabled)},
		{"a call of an answer that was cut off is refused", circumstances{tool: &tool, stop: StopOutputLimit}, code(api.CodeCallCutOff)},
		{"a call of an answer that was filtered is refused", circumstances{tool: &tool, stop: StopFiltered}, code(api.CodeContentFiltered)},
		{"an unknown tool in a cut off answer is told as cut off: its name may be too", circumstances{stop: StopOutputLimit}, code(api.CodeCallCutOff)},
		{"a call of a closing answer is refused", circumstances{tool: &tool, closing: true}, code(api.CodeToolDisabled)},
		{"arguments that do not match are refused", circumstances{tool: &tool, invalid: api.CodeArgumentsInvalid}, code(api.CodeArgumentsInvalid)},
		{"arguments that do not match are refused before the application is asked", circumstances{tool: &tool, invalid: api.CodeArgumentsInvalid, checks: true}, code(api.CodeArgumentsInvalid)},
		{"AP7 a privileged action without permission is denied", circumstances{tool: privileged(PrivilegeDenied)}, code(api.CodeDenied)},
		{"AP7 a privileged action without permission is denied, whatever was granted", circumstances{tool: privileged(PrivilegeDenied), granted: true}, code(api.CodeDenied)},
		{"AP7 a privileged action without permission is denied before the application is asked", circumstances{tool: privileged(PrivilegeDenied), checks: true}, code(api.CodeDenied)},
		{"AP7 a permitted privileged action needs a person, also where it is not listed", circumstances{tool: privileged(PrivilegePermitted)}, [4]string{asks, asks, asks, ApprovedByNever}},
		{"AP7 an unattended privileged action needs nobody", circumstances{tool: privileged(PrivilegeUnattended)}, [4]string{ApprovedByPermission, ApprovedByPermission, ApprovedByPermission, ApprovedByNever}},
		{"AP7 a grant of a privileged action itself covers it", circumstances{tool: privileged(PrivilegePermitted), granted: true}, same(ApprovedByGrant)},
		{"the application's own check comes before everything that lets a call pass", circumstances{tool: &tool, checks: true}, same(checks)},
		{"AP4 the application's own check comes before a grant", circumstances{tool: &tool, checks: true, granted: true}, same(checks)},
		{"the application's own check sees built-ins too", circumstances{tool: with(func(t *Tool) { t.Free = true }), checks: true}, same(checks)},
		{"the application's own check sees privileged actions too", circumstances{tool: privileged(PrivilegeUnattended), checks: true}, same(checks)},
		{"AP4 a grant lets a call pass", circumstances{tool: &tool, granted: true}, same(ApprovedByGrant)},
		{"AP9 a question is asked in every mode: it is no approval", circumstances{tool: with(func(t *Tool) { t.Question, t.Free = true, true })}, same(asks)},
		{"a built-in that acts on the session only passes", circumstances{tool: with(func(t *Tool) { t.Free = true })}, same(ApprovedByBuiltin)},
		{"AP1 a tool that is listed", circumstances{tool: &tool}, [4]string{asks, asks, reviews, ApprovedByNever}},
		{"AP1 a tool that is not listed", circumstances{tool: with(func(t *Tool) { t.Ask = false })}, [4]string{ApprovedByPolicy, ApprovedByPolicy, reviews, ApprovedByNever}},
		{"AP5 a tool that only reads is reviewed as well", circumstances{tool: with(func(t *Tool) { t.Effect = api.ReadOnly })}, [4]string{asks, asks, reviews, ApprovedByNever}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			for i, mode := range modes {
				c := row.c
				c.mode = mode
				if got := outcome(rule(c)); got != row.want[i] {
					t.Errorf("mode %s: %q, want %q", mode, got, row.want[i])
				}
			}
		})
	}
}

// every calls f with each combination of circumstances.
func every(f func(circumstances)) int {
	flags := []bool{false, true}
	n := 0
	var tools []*Tool
	tools = append(tools, nil)
	for _, privilege := range []Privilege{Ordinary, PrivilegeDenied, PrivilegePermitted, PrivilegeUnattended} {
		for bits := range 1 << 4 {
			on := func(i int) bool { return bits>>i&1 == 1 }
			tools = append(tools, &Tool{Name: "app.x", ModelName: "x", Effect: api.SideEffect, Privilege: privilege, Ask: on(0), Free: on(1), Question: on(2), Disabled: on(3)})
		}
	}
	for _, tool := range tools {
		for _, mode := range modes {
			for _, stop := range []string{StopToolCalls, StopEnd, StopOutputLimit, StopFiltered} {
				for _, invalid := range []api.Code{"", api.CodeArgumentsInvalid} {
					for _, closing := range flags {
						for _, check := range flags {
							for _, granted := range flags {
								n++
								f(circumstances{name: "x", tool: tool, stop: stop, closing: closing, invalid: invalid, why: "bad", checks: check, granted: granted, mode: mode})
							}
						}
					}
				}
			}
		}
	}
	return n
}

func (c circumstances) String() string {
	return fmt.Sprintf("tool %+v, stop %s, closing %t, invalid %q, checks %t, granted %t, mode %s", c.tool, c.stop, c.closing, c.invalid, c.checks, c.granted, c.mode)
}

// AP2 as invariants over every combination: whatever comes earlier wins over everything that comes later.
func TestInEveryCombinationWhatComesEarlierWins(t *testing.T) {
	t.Parallel()
	n := every(func(c circumstances) {
		r := rule(c)
		fail := func(format string, args ...any) {
			t.Helper()
			t.Errorf("%v: %s, but the ruling is %q", c, fmt.Sprintf(format, args...), outcome(r))
		}
		if got := outcome(r); got == "" || strings.Contains(got, "+") {
			fail("a ruling says one thing")
		}
		if (r.code != "") != (r.message != "") {
			fail("a refusal and its text go together, the text is %q", r.message)
		}
		// What each stage says for itself, from the first to the last; the first that speaks is the ruling.
		known := api.Code("")
		switch {
		case c.stop == StopOutputLimit:
			known = api.CodeCallCutOff
		case c.stop == StopFiltered:
			known = api.CodeContentFiltered
		case c.tool == nil:
			known = api.CodeUnknownTool
		case c.tool.Disabled, c.closing:
			known = api.CodeToolDisabled
		}
		denied := c.tool != nil && c.tool.Privilege == PrivilegeDenied
		switch {
		case known != "":
			if r.code != known {
				fail("known and enabled comes first: %s", known)
			}
		case c.invalid != "":
			if r.code != c.invalid {
				fail("arguments come second: %s", c.invalid)
			}
		case denied:
			if r.code != api.CodeDenied {
				fail("a hard denial comes third")
			}
		case c.checks:
			if !r.check {
				fail("the application's own check comes third too")
			}
		case c.granted:
			if r.approved != ApprovedByGrant {
				fail("a grant comes fourth")
			}
		default:
			if r.code != "" || r.check || r.approved == ApprovedByGrant {
				fail("only the mode is left")
			}
		}
	})
	if n != (1+4*16)*4*4*2*8 {
		t.Errorf("%d combinations were tried", n)
	}
}

func TestNoCombinationApprovesWhatIsDenied(t *testing.T) {
	t.Parallel()
	every(func(c circumstances) {
		r := rule(c)
		passes := r.approved != "" || r.ask || r.review
		hard := c.tool == nil || c.tool.Disabled || c.tool.Privilege == PrivilegeDenied || c.closing || c.invalid != "" || c.stop == StopOutputLimit || c.stop == StopFiltered
		if hard && (passes || r.code == "" || r.check) {
			t.Errorf("%v: denied, but the ruling is %q", c, outcome(r))
		}
		if !hard && c.checks && passes {
			t.Errorf("%v: not checked yet, but the ruling is %q", c, outcome(r))
		}
		if !hard && r.code != "" {
			t.Errorf("%v: nothing is wrong, but it is refused with %s", c, r.code)
		}
	})
}

// AP7: no reviewer and no policy lets a privileged action pass, and a grant does only where it is the tool's own.
func TestNoCombinationLetsAPolicyOrAReviewerApproveAPrivilegedAction(t *testing.T) {
	t.Parallel()
	every(func(c circumstances) {
		if c.tool == nil || c.tool.Privilege == Ordinary {
			return
		}
		r := rule(c)
		if r.review || r.approved == ApprovedByPolicy || r.approved == ApprovedByGrant && !c.granted {
			t.Errorf("%v: privileged, but the ruling is %q", c, outcome(r))
		}
		if r.approved == ApprovedByPermission && c.tool.Privilege != PrivilegeUnattended {
			t.Errorf("%v: it is not permitted without a person, but the ruling is %q", c, outcome(r))
		}
	})
}

// The grant that a call's circumstances hold is that of its own tool, by its catalogue name.
func TestAGrantOfAnotherToolIsNone(t *testing.T) {
	t.Parallel()
	s := &State{Agent: Agent{Mode: api.ApproveAlways, Tools: []Tool{
		{Name: "app.write", ModelName: "app__write", Ask: true},
		{Name: "app.spawn", ModelName: "app__spawn", Privilege: PrivilegePermitted},
	}}}
	d := &decision{s: s}
	for granted, want := range map[string]map[string]string{
		"":           {"app.write": asks, "app.spawn": asks},
		"app.write":  {"app.write": ApprovedByGrant, "app.spawn": asks},
		"app.spawn":  {"app.write": asks, "app.spawn": ApprovedByGrant},
		"app__write": {"app.write": asks, "app.spawn": asks},
		"app":        {"app.write": asks, "app.spawn": asks},
	} {
		s.Grants = []api.Grant{{Tool: granted}}
		for name, word := range want {
			if got := outcome(d.rule(name, s.Agent.byName(name), circumstances{})); got != word {
				t.Errorf("with a grant of %q a call of %s is ruled %q, want %q", granted, name, got, word)
			}
		}
	}
}
