package definition

import (
	"maps"

	"github.com/openworkerai/openworker/api"
)

// NormalizeSession checks the options of a new session and returns the one form of their meaning, without
// the key that makes the creation repeatable: [Fingerprint] of it is what a repetition is compared with
// (SE1, AG2). Whether a workspace exists and where it lies is the host's to check (SE5).
//
// Errors: invalid_request, invalid_workspace, invalid_guidance, unknown_provider.
func NormalizeSession(opts api.SessionOptions, providers []string) (api.SessionOptions, error) {
	if err := checkText(api.CodeInvalidRequest, "idempotencyKey", opts.IdempotencyKey, api.MaxSubmissionIDBytes); err != nil {
		return opts, err
	}
	opts.IdempotencyKey = ""
	opts.InitialHistory = nil // the host checks and stores it (IM2)
	if opts.Scratch != nil {
		if *opts.Scratch == (opts.Workspace != "") {
			why := "scratch is false and no workspace is given: name a directory, or leave scratch out"
			if *opts.Scratch {
				why = "scratch is true and a workspace is given: choose one of them"
			}
			return opts, api.Errorf(api.CodeInvalidWorkspace, "%s", why)
		}
		opts.Scratch = nil
	}
	if opts.Model != nil {
		m, err := CheckModel("model", *opts.Model, providers)
		if err != nil {
			return opts, err
		}
		opts.Model = &m
	}
	var err error
	if opts.Compaction, err = checkScoped(opts.AutoApproverContext, opts.Compaction); err != nil {
		return opts, err
	}
	if err := checkText(api.CodeInvalidRequest, "owner", opts.Owner, api.MaxSubmissionIDBytes); err != nil {
		return opts, err
	}
	size := 0
	for key, value := range opts.Metadata {
		if err := checkText(api.CodeInvalidRequest, "a metadata key", key, api.MaxMetadataBytes); err != nil {
			return opts, err
		}
		if err := checkText(api.CodeInvalidRequest, "metadata["+short(key)+"]", value, api.MaxMetadataBytes); err != nil {
			return opts, err
		}
		size += len(key) + len(value)
	}
	if size > api.MaxMetadataBytes {
		return opts, api.Errorf(api.CodeInvalidRequest, "metadata is %d bytes in all; at most %d are allowed", size, api.MaxMetadataBytes)
	}
	opts.Metadata = maps.Clone(opts.Metadata)
	if len(opts.Metadata) == 0 {
		opts.Metadata = nil
	}
	return opts, nil
}

// NormalizeTurn checks the options of a turn and returns them in the one form of their meaning. Its limits
// are checked by themselves here; [CheckLimits] on them laid over the agent's is the caller's (LI4).
//
// Errors: invalid_request, invalid_limits, invalid_guidance, unknown_provider, unsupported_option.
func NormalizeTurn(opts api.TurnOptions, providers []string) (api.TurnOptions, error) {
	var err error
	if opts.SubmissionID, err = SubmissionKey(opts); err != nil {
		return opts, err
	}
	opts.IdempotencyKey = ""
	switch opts.WhenBusy {
	case "", api.BusyReject:
		opts.WhenBusy = ""
	case api.BusyQueue, api.BusyInterrupt:
	default:
		return opts, api.Errorf(api.CodeInvalidRequest, "whenBusy %q is not one of %q, %q and %q",
			short(string(opts.WhenBusy)), api.BusyReject, api.BusyQueue, api.BusyInterrupt)
	}
	if opts.Guardrails, err = checkNames(api.CodeInvalidRequest, "guardrails", opts.Guardrails); err != nil {
		return opts, err
	}
	if err := CheckGuidance("instructionAddendum", opts.InstructionAddendum); err != nil {
		return opts, err
	}
	if opts.Model != nil {
		m, err := CheckModel("model", *opts.Model, providers)
		if err != nil {
			return opts, err
		}
		opts.Model = &m
	}
	if err := checkEach("limits", opts.Limits); err != nil {
		return opts, err
	}
	opts.Compaction, err = checkScoped(opts.AutoApproverContext, opts.Compaction)
	return opts, err
}

// SubmissionKey is the submission ID of a turn under either of its names, "" for none (RU4). Errors are
// invalid_request.
func SubmissionKey(opts api.TurnOptions) (string, error) {
	for _, id := range []struct{ field, value string }{
		{"submissionId", opts.SubmissionID}, {"idempotencyKey", opts.IdempotencyKey},
	} {
		if err := checkText(api.CodeInvalidRequest, id.field, id.value, api.MaxSubmissionIDBytes); err != nil {
			return "", err
		}
	}
	switch {
	case opts.SubmissionID == "":
		return opts.IdempotencyKey, nil
	case opts.IdempotencyKey != "" && opts.IdempotencyKey != opts.SubmissionID:
		return "", api.Errorf(api.CodeInvalidRequest, "submissionId %q and idempotencyKey %q are two names of one thing; give one of them",
			short(opts.SubmissionID), short(opts.IdempotencyKey))
	}
	return opts.SubmissionID, nil
}

// checkScoped checks the guidance of a session or a turn, where an empty text clears what is inherited.
func checkScoped(reviewer *string, compaction *api.CompactionOptions) (*api.CompactionOptions, error) {
	if reviewer != nil {
		if err := CheckGuidance("autoApproverContext", *reviewer); err != nil {
			return nil, err
		}
	}
	if compaction == nil || compaction.AdditionalInstructions == nil {
		return nil, nil
	}
	return compaction, CheckGuidance("compaction.additionalInstructions", *compaction.AdditionalInstructions)
}
