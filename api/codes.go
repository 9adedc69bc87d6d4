package api

// CodeInfo describes one code: the row of the error table (FA8).
type CodeInfo struct {
	Code      Code   `json:"code"`
	Meaning   string `json:"meaning"`
	Retryable bool   `json:"retryable"`
	// HTTP is the status that the REST face answers with.
	HTTP int `json:"http"`
	// RPC is the error code of the JSON-RPC face.
	RPC int `json:"rpc"`
}

// Codes returns the closed list of codes in the order of the documentation.
func Codes() []CodeInfo { return append([]CodeInfo(nil), codeTable...) }

var codeTable = []CodeInfo{
	{CodeInvalidRequest, "a field of the request is missing, malformed or out of bounds", false, 400, -32602},
	{CodeInvalidAgent, "the agent definition breaks a rule; the message names the field", false, 400, -32010},
	{CodeInvalidTool, "a tool's name, schema or effect is not acceptable", false, 400, -32011},
	{CodeInvalidLimits, "a limit is zero, negative, contradictory or above the model's own maximum", false, 400, -32012},
	{CodeInvalidGuidance, "a guidance text is over 32,000 bytes, holds a NUL or is not UTF-8", false, 400, -32013},
	{CodeInvalidWorkspace, "the workspace is missing, not a directory, or overlaps the state directory", false, 400, -32014},
	{CodeUnknownProvider, "no host knows a provider of that name, and this process has none; the message lists the names that are known", false, 400, -32015},
	{CodeUnsupportedOption, "this host does not support an option that was given; nothing was done", false, 422, -32016},
	{CodeDefinitionConflict, "another definition is registered under that name; the message names the fields that differ", false, 409, -32017},
	{CodeSubmissionConflict, "the submission ID was used for a different submission; the message names what differs", false, 409, -32018},
	{CodeAgentNotFound, "no agent of that name is registered in this store", false, 404, -32020},
	{CodeSessionNotFound, "no such session in this store", false, 404, -32021},
	{CodeSessionDeleted, "the session was deleted", false, 410, -32022},
	{CodeSessionParked, "the session's journal cannot be folded by this build; it is set aside with its reason", false, 409, -32023},
	{CodeForeignStore, "the reference belongs to another store", false, 404, -32024},
	{CodeWrongAgent, "the session belongs to another agent than the one it was resumed with", false, 409, -32025},
	{CodeRunNotFound, "no such run in this session", false, 404, -32026},
	{CodeInteractionNotFound, "no such interaction in this session", false, 404, -32027},
	{CodeAlreadyResolved, "the interaction was resolved with a different answer", false, 409, -32028},
	{CodeSessionBusy, "a turn is under way; the message names its run", true, 409, -32030},
	{CodeQueueFull, "the session's queue of messages, or of inputs not yet stored, is full", true, 429, -32031},
	{CodeCredentialsMissing, "this process has no credential for the provider; the turn waits until it has", true, 409, -32032},
	{CodeRegistrationMissing, "this process lacks the agent, a tool of it or the provider; the turn waits until a process has them", true, 409, -32033},
	{CodeProviderError, "the provider refused the request; its own message is given", false, 502, -32040},
	{CodeProviderOverloaded, "the provider is overloaded or failed on its side", true, 503, -32041},
	{CodeProviderUnreachable, "the provider could not be reached", true, 503, -32042},
	{CodeRateLimited, "the provider's rate limit was hit", true, 429, -32043},
	{CodeQuotaExhausted, "the provider's account has no quota left", false, 402, -32044},
	{CodeAuthenticationFailed, "the provider refused the credential", false, 502, -32045},
	{CodeModelNotFound, "the provider does not know the model", false, 502, -32046},
	{CodeRequestTooLarge, "the request is larger than the provider or its edge accepts", false, 413, -32047},
	{CodeContextExhausted, "the conversation does not fit the model's window", false, 422, -32048},
	{CodeStreamCut, "the provider's stream ended without its end mark, or stood still for too long", true, 502, -32049},
	{CodeContentFiltered, "the provider's content filter stopped the answer", false, 422, -32050},
	{CodeCallLost, "the process that made the model call ended before the answer was stored; the call counts", true, 500, -32052},
	{CodeRecoveryExhausted, "three take-overs brought no progress; the run was ended", false, 500, -32051},
	{CodeArgumentsInvalid, "the model's arguments do not parse or do not match the tool's schema", false, 422, -32060},
	{CodeUnknownTool, "the model called a tool that the agent does not have", false, 422, -32061},
	{CodeToolDisabled, "the model called a built-in tool that is off for this agent", false, 422, -32062},
	{CodeCallCutOff, "the answer was cut off at its output limit, so its tool calls were not run", false, 422, -32063},
	{CodeToolFailed, "the tool returned an error", false, 500, -32064},
	{CodeToolPanicked, "the tool panicked; the process lives on", false, 500, -32065},
	{CodeToolTimeout, "the tool did not finish in time", true, 504, -32066},
	{CodeDenied, "a person or a rule denied the action", false, 403, -32067},
	{CodeCancelled, "the turn was cancelled, or the caller stopped waiting: then send again with the same submission ID to learn whether it was accepted", false, 409, -32068},
	{CodeOutcomeUnknown, "the action had started when its process ended; whether it took effect is not known", false, 409, -32069},
	{CodeOutputLost, "the action returned, and its process ended before hooks and guardrails had looked at the output", false, 500, -32085},
	{CodeCheckFailed, "the application's own check of the action failed, so it was not run; nobody has refused it", true, 500, -32086},
	{CodeReviewTimeout, "the reviewer did not answer in time; a person is asked", true, 504, -32087},
	{CodeReviewInvalid, "the reviewer's answer is not of the form that it must have, or the action is too large to review; a person is asked", false, 502, -32088},
	{CodeGuardrailBlocked, "a guardrail blocked the text; the message names it and gives its reason", false, 422, -32089},
	{CodeGuardrailFailed, "a guardrail failed, did not answer in time, or the text is over 128,000 bytes; what it guards did not pass", true, 500, -32090},
	{CodeGuardrailMissing, "a guardrail that is in force is not registered in this process", true, 409, -32091},
	{CodeHookVetoed, "a before-model hook refused the request; the message gives its reason", false, 422, -32092},
	{CodeHookFailed, "a hook failed or did not answer in time", true, 500, -32093},
	{CodeUnsupportedMedia, "the file is of a kind that is not taken, is damaged, is not what it is said to be, or the model does not take its kind; the message names it", false, 415, -32094},
	{CodeAttachmentTooLarge, "a file, or the files of a message together, are over a bound, ours or the model's own; the message names it", false, 413, -32095},
	{CodeAttachmentQuota, "the session keeps as many files, or as many bytes of them, as it may; files that were sent stay, so use a new session", false, 409, -32053},
	{CodeAttachmentNotFound, "the session has no such file: it was never uploaded, its upload was not committed or has expired, or a guardrail's redaction took its place; send it again", false, 404, -32054},
	{CodeUploadConflict, "bytes or a description of a file differ from those that came before, or from what was announced", false, 409, -32055},
	{CodeUninspectableContent, "a guardrail is in force that cannot look into a file, since it is no text; the message names both", false, 422, -32056},
	{CodeInvalidHistory, "the conversation to import breaks a rule; the message names the item and the rule, and no session was made", false, 400, -32019},
	{CodeStoreBusy, "another process holds the store's write lock; nothing was written", true, 503, -32070},
	{CodeStoreFull, "the disk that holds the store is full; nothing was written", true, 507, -32071},
	{CodeStoreReadOnly, "the store cannot be written by this process", false, 500, -32072},
	{CodeStoreCorrupt, "the store is damaged; restore a back-up", false, 500, -32073},
	{CodeStoreTooNew, "the store was written by a newer version, which this build must not touch", false, 500, -32074},
	{CodeStoreUnsupported, "the store is on a file system, or of a kind, that cannot keep the guarantees", false, 500, -32075},
	{CodeStoreUnavailable, "the store could not be reached or read", true, 503, -32076},
	{CodeClosed, "the harness or the stream was closed", false, 503, -32080},
	{CodeRuntimeNotFound, "a client cannot start the runtime: its program is not there, not for this machine, or does not start", false, 503, -32081},
	{CodeRuntimeExited, "the runtime that a client had started ended; open the same state directory again, and what was under way goes on", true, 503, -32082},
	{CodeIncompatibleVersion, "client and runtime speak no common version of the protocol; install matching versions", false, 400, -32084},
	{CodeFrameTooLarge, "a line is longer than 1,048,576 bytes, or a message of several lines than its bound; it was not read", false, 413, -32034},
	{CodeInternal, "a fault of ours; please report it with the message", false, 500, -32603},
}

var codeInfo = func() map[Code]CodeInfo {
	m := make(map[Code]CodeInfo, len(codeTable))
	for _, c := range codeTable {
		m[c.Code] = c
	}
	return m
}()
