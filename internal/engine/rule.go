package engine

import (
	"fmt"

	"github.com/openworkerai/openworker/api"
)

// ruling is what becomes of a call (AP2).
type ruling struct {
	code     api.Code // refused, with message as its result
	message  string
	approved string // it may run: one of the ApprovedBy values
	check    bool   // the application's own check comes first
	review   bool   // the reviewer is asked
	ask      bool   // a person is asked
}

// Who let a call pass without a person (Item.Approved).
const (
	ApprovedByPolicy     = "policy"     // the agent's rule does not ask for this tool
	ApprovedByGrant      = "grant"      // a session grant covers it
	ApprovedByNever      = "never"      // the agent's mode is never
	ApprovedByBuiltin    = "builtin"    // a built-in that acts on the session only
	ApprovedByPermission = "permission" // a privileged action that the definition permits without a person
)

// circumstances are all that a ruling depends on.
type circumstances struct {
	name    string // as the model gave it
	tool    *Tool  // nil: there is none of that name
	stop    string // of the answer that holds the call
	closing bool   // the answer is that of a closing call
	invalid api.Code
	why     string // with invalid
	checks  bool   // the application has a check of its own, which has not spoken yet
	granted bool
	mode    api.ApprovalMode
}

// rule applies the order of AP2: known and enabled, arguments valid, hard checks, session grant, mode. What
// comes earlier wins over everything that comes later, in every mode. A denial by the application's own check is
// no ruling: it ends the call where the check speaks, which is before this is asked again without it.
func rule(c circumstances) ruling {
	refuse := func(code api.Code, format string, args ...any) ruling {
		return ruling{code: code, message: fmt.Sprintf(format, args...)}
	}
	switch {
	// Known and enabled.
	case c.stop == StopOutputLimit:
		return refuse(api.CodeCallCutOff, "Not run: the answer was cut off at its output limit, so this call may be incomplete. Make the call again with a shorter answer, or with less in each call.")
	case c.stop == StopFiltered:
		return refuse(api.CodeContentFiltered, "Not run: the provider's content filter stopped the answer, so this call may be incomplete.")
	case c.tool == nil:
		return refuse(api.CodeUnknownTool, "Not run: there is no tool %.80q. Use only the tools that are declared.", c.name)
	case c.tool.Disabled:
		return refuse(api.CodeToolDisabled, "Not run: the tool %q is off for this agent.", c.name)
	case c.closing:
		return refuse(api.CodeToolDisabled, "Not run: the turn's limit is reached, no tool can be used any more.")
	// Arguments valid.
	case c.invalid != "":
		return ruling{code: c.invalid, message: c.why}
	// Hard checks.
	case c.tool.Privilege == PrivilegeDenied:
		return refuse(api.CodeDenied, "Not run: this agent has no permission for %q. Do not retry it and do not try to reach the same effect in another way.", c.name)
	case c.checks:
		return ruling{check: true}
	// Session grant.
	case c.granted:
		return ruling{approved: ApprovedByGrant}
	// Mode.
	case c.tool.Question:
		return ruling{ask: true} // it is the question itself
	case c.tool.Free:
		return ruling{approved: ApprovedByBuiltin}
	case c.mode == api.ApproveNever:
		return ruling{approved: ApprovedByNever}
	case c.tool.Privilege == PrivilegeUnattended:
		return ruling{approved: ApprovedByPermission}
	case c.tool.Privilege == PrivilegePermitted:
		return ruling{ask: true} // a person, and no reviewer; not exempt by absence from a list
	case c.mode == api.ApproveAuto:
		return ruling{review: true}
	case c.tool.Ask:
		return ruling{ask: true}
	}
	return ruling{approved: ApprovedByPolicy}
}
