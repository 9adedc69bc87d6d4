// Generated from spec/codes.json by `npm run generate`. Do not edit: change the Go types and their comments.

import type { Code } from './protocol.js';

/** What an error may say beside its message, by name: for example `run` with session_busy. */
export type ErrorDetails = Readonly<Record<string, string>>;

/** How an error is made: ErrorOptions, and whether the same request may succeed later, where that is not its code's. */
export interface OpenWorkerErrorOptions extends ErrorOptions {
  retryable?: boolean | undefined;
}

/** What errors of the SDK bear: a program may have two copies of the package, whose classes differ and whose errors meet. */
const mark = Symbol.for('@openworkerai/harness-sdk/error');

/**
 * The error of everything that the SDK refuses or fails at. Programs branch on its class or its `code`; its message says what
 * was wrong with which input and what to do next, is for people, and may change.
 */
export class OpenWorkerError extends Error {
  static {
    this.prototype.name = 'OpenWorkerError';
    Object.defineProperty(this.prototype, mark, { value: true });
  }
  /** The kind of failure. A later runtime may have kinds that this version does not know. */
  readonly code: Code;
  readonly details: ErrorDetails;
  /** Whether the same request may succeed later, unchanged. */
  readonly retryable: boolean;

  constructor(code: Code, message: string, details: ErrorDetails = {}, options: OpenWorkerErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.details = details;
    this.retryable = options.retryable ?? rows.get(code)?.retryable ?? false;
  }
}

/** A field of the request is missing, malformed or out of bounds. Code: `invalid_request`. */
export class InvalidRequestError extends OpenWorkerError {
  static {
    this.prototype.name = 'InvalidRequestError';
  }
  declare readonly code: 'invalid_request';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('invalid_request', message, details, options);
  }
}

/** The agent definition breaks a rule; the message names the field. Code: `invalid_agent`. */
export class InvalidAgentError extends OpenWorkerError {
  static {
    this.prototype.name = 'InvalidAgentError';
  }
  declare readonly code: 'invalid_agent';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('invalid_agent', message, details, options);
  }
}

/** A tool's name, schema or effect is not acceptable. Code: `invalid_tool`. */
export class InvalidToolError extends OpenWorkerError {
  static {
    this.prototype.name = 'InvalidToolError';
  }
  declare readonly code: 'invalid_tool';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('invalid_tool', message, details, options);
  }
}

/** A limit is zero, negative, contradictory or above the model's own maximum. Code: `invalid_limits`. */
export class InvalidLimitsError extends OpenWorkerError {
  static {
    this.prototype.name = 'InvalidLimitsError';
  }
  declare readonly code: 'invalid_limits';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('invalid_limits', message, details, options);
  }
}

/** A guidance text is over 32,000 bytes, holds a NUL or is not UTF-8. Code: `invalid_guidance`. */
export class InvalidGuidanceError extends OpenWorkerError {
  static {
    this.prototype.name = 'InvalidGuidanceError';
  }
  declare readonly code: 'invalid_guidance';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('invalid_guidance', message, details, options);
  }
}

/** The workspace is missing, not a directory, or overlaps the state directory. Code: `invalid_workspace`. */
export class InvalidWorkspaceError extends OpenWorkerError {
  static {
    this.prototype.name = 'InvalidWorkspaceError';
  }
  declare readonly code: 'invalid_workspace';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('invalid_workspace', message, details, options);
  }
}

/**
 * No host knows a provider of that name, and this process has none; the message lists the names that are known. Code:
 * `unknown_provider`.
 */
export class UnknownProviderError extends OpenWorkerError {
  static {
    this.prototype.name = 'UnknownProviderError';
  }
  declare readonly code: 'unknown_provider';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('unknown_provider', message, details, options);
  }
}

/** This host does not support an option that was given; nothing was done. Code: `unsupported_option`. */
export class UnsupportedOptionError extends OpenWorkerError {
  static {
    this.prototype.name = 'UnsupportedOptionError';
  }
  declare readonly code: 'unsupported_option';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('unsupported_option', message, details, options);
  }
}

/** Another definition is registered under that name; the message names the fields that differ. Code: `definition_conflict`. */
export class DefinitionConflictError extends OpenWorkerError {
  static {
    this.prototype.name = 'DefinitionConflictError';
  }
  declare readonly code: 'definition_conflict';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('definition_conflict', message, details, options);
  }
}

/** The submission ID was used for a different submission; the message names what differs. Code: `submission_conflict`. */
export class SubmissionConflictError extends OpenWorkerError {
  static {
    this.prototype.name = 'SubmissionConflictError';
  }
  declare readonly code: 'submission_conflict';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('submission_conflict', message, details, options);
  }
}

/** No agent of that name is registered in this store. Code: `agent_not_found`. */
export class AgentNotFoundError extends OpenWorkerError {
  static {
    this.prototype.name = 'AgentNotFoundError';
  }
  declare readonly code: 'agent_not_found';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('agent_not_found', message, details, options);
  }
}

/** No such session in this store. Code: `session_not_found`. */
export class SessionNotFoundError extends OpenWorkerError {
  static {
    this.prototype.name = 'SessionNotFoundError';
  }
  declare readonly code: 'session_not_found';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('session_not_found', message, details, options);
  }
}

/** The session was deleted. Code: `session_deleted`. */
export class SessionDeletedError extends OpenWorkerError {
  static {
    this.prototype.name = 'SessionDeletedError';
  }
  declare readonly code: 'session_deleted';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('session_deleted', message, details, options);
  }
}

/** The session's journal cannot be folded by this build; it is set aside with its reason. Code: `session_parked`. */
export class SessionParkedError extends OpenWorkerError {
  static {
    this.prototype.name = 'SessionParkedError';
  }
  declare readonly code: 'session_parked';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('session_parked', message, details, options);
  }
}

/** The reference belongs to another store. Code: `foreign_store`. */
export class ForeignStoreError extends OpenWorkerError {
  static {
    this.prototype.name = 'ForeignStoreError';
  }
  declare readonly code: 'foreign_store';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('foreign_store', message, details, options);
  }
}

/** The session belongs to another agent than the one it was resumed with. Code: `wrong_agent`. */
export class WrongAgentError extends OpenWorkerError {
  static {
    this.prototype.name = 'WrongAgentError';
  }
  declare readonly code: 'wrong_agent';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('wrong_agent', message, details, options);
  }
}

/** No such run in this session. Code: `run_not_found`. */
export class RunNotFoundError extends OpenWorkerError {
  static {
    this.prototype.name = 'RunNotFoundError';
  }
  declare readonly code: 'run_not_found';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('run_not_found', message, details, options);
  }
}

/** No such interaction in this session. Code: `interaction_not_found`. */
export class InteractionNotFoundError extends OpenWorkerError {
  static {
    this.prototype.name = 'InteractionNotFoundError';
  }
  declare readonly code: 'interaction_not_found';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('interaction_not_found', message, details, options);
  }
}

/** The interaction was resolved with a different answer. Code: `already_resolved`. */
export class AlreadyResolvedError extends OpenWorkerError {
  static {
    this.prototype.name = 'AlreadyResolvedError';
  }
  declare readonly code: 'already_resolved';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('already_resolved', message, details, options);
  }
}

/** A turn is under way; the message names its run. Code: `session_busy`. The same request may succeed later. */
export class SessionBusyError extends OpenWorkerError {
  static {
    this.prototype.name = 'SessionBusyError';
  }
  declare readonly code: 'session_busy';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('session_busy', message, details, options);
  }
}

/** The session's queue of messages, or of inputs not yet stored, is full. Code: `queue_full`. The same request may succeed later. */
export class QueueFullError extends OpenWorkerError {
  static {
    this.prototype.name = 'QueueFullError';
  }
  declare readonly code: 'queue_full';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('queue_full', message, details, options);
  }
}

/**
 * This process has no credential for the provider; the turn waits until it has. Code: `credentials_missing`. The same request may
 * succeed later.
 */
export class CredentialsMissingError extends OpenWorkerError {
  static {
    this.prototype.name = 'CredentialsMissingError';
  }
  declare readonly code: 'credentials_missing';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('credentials_missing', message, details, options);
  }
}

/**
 * This process lacks the agent, a tool of it or the provider; the turn waits until a process has them. Code:
 * `registration_missing`. The same request may succeed later.
 */
export class RegistrationMissingError extends OpenWorkerError {
  static {
    this.prototype.name = 'RegistrationMissingError';
  }
  declare readonly code: 'registration_missing';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('registration_missing', message, details, options);
  }
}

/** The provider refused the request; its own message is given. Code: `provider_error`. */
export class ProviderError extends OpenWorkerError {
  static {
    this.prototype.name = 'ProviderError';
  }
  declare readonly code: 'provider_error';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('provider_error', message, details, options);
  }
}

/** The provider is overloaded or failed on its side. Code: `provider_overloaded`. The same request may succeed later. */
export class ProviderOverloadedError extends OpenWorkerError {
  static {
    this.prototype.name = 'ProviderOverloadedError';
  }
  declare readonly code: 'provider_overloaded';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('provider_overloaded', message, details, options);
  }
}

/** The provider could not be reached. Code: `provider_unreachable`. The same request may succeed later. */
export class ProviderUnreachableError extends OpenWorkerError {
  static {
    this.prototype.name = 'ProviderUnreachableError';
  }
  declare readonly code: 'provider_unreachable';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('provider_unreachable', message, details, options);
  }
}

/** The provider's rate limit was hit. Code: `rate_limited`. The same request may succeed later. */
export class RateLimitedError extends OpenWorkerError {
  static {
    this.prototype.name = 'RateLimitedError';
  }
  declare readonly code: 'rate_limited';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('rate_limited', message, details, options);
  }
}

/** The provider's account has no quota left. Code: `quota_exhausted`. */
export class QuotaExhaustedError extends OpenWorkerError {
  static {
    this.prototype.name = 'QuotaExhaustedError';
  }
  declare readonly code: 'quota_exhausted';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('quota_exhausted', message, details, options);
  }
}

/** The provider refused the credential. Code: `authentication_failed`. */
export class AuthenticationFailedError extends OpenWorkerError {
  static {
    this.prototype.name = 'AuthenticationFailedError';
  }
  declare readonly code: 'authentication_failed';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('authentication_failed', message, details, options);
  }
}

/** The provider does not know the model. Code: `model_not_found`. */
export class ModelNotFoundError extends OpenWorkerError {
  static {
    this.prototype.name = 'ModelNotFoundError';
  }
  declare readonly code: 'model_not_found';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('model_not_found', message, details, options);
  }
}

/** The request is larger than the provider or its edge accepts. Code: `request_too_large`. */
export class RequestTooLargeError extends OpenWorkerError {
  static {
    this.prototype.name = 'RequestTooLargeError';
  }
  declare readonly code: 'request_too_large';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('request_too_large', message, details, options);
  }
}

/** The conversation does not fit the model's window. Code: `context_exhausted`. */
export class ContextExhaustedError extends OpenWorkerError {
  static {
    this.prototype.name = 'ContextExhaustedError';
  }
  declare readonly code: 'context_exhausted';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('context_exhausted', message, details, options);
  }
}

/**
 * The provider's stream ended without its end mark, or stood still for too long. Code: `stream_cut`. The same request may succeed
 * later.
 */
export class StreamCutError extends OpenWorkerError {
  static {
    this.prototype.name = 'StreamCutError';
  }
  declare readonly code: 'stream_cut';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('stream_cut', message, details, options);
  }
}

/** The provider's content filter stopped the answer. Code: `content_filtered`. */
export class ContentFilteredError extends OpenWorkerError {
  static {
    this.prototype.name = 'ContentFilteredError';
  }
  declare readonly code: 'content_filtered';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('content_filtered', message, details, options);
  }
}

/**
 * The process that made the model call ended before the answer was stored; the call counts. Code: `call_lost`. The same request
 * may succeed later.
 */
export class CallLostError extends OpenWorkerError {
  static {
    this.prototype.name = 'CallLostError';
  }
  declare readonly code: 'call_lost';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('call_lost', message, details, options);
  }
}

/** Three take-overs brought no progress; the run was ended. Code: `recovery_exhausted`. */
export class RecoveryExhaustedError extends OpenWorkerError {
  static {
    this.prototype.name = 'RecoveryExhaustedError';
  }
  declare readonly code: 'recovery_exhausted';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('recovery_exhausted', message, details, options);
  }
}

/** The model's arguments do not parse or do not match the tool's schema. Code: `arguments_invalid`. */
export class ArgumentsInvalidError extends OpenWorkerError {
  static {
    this.prototype.name = 'ArgumentsInvalidError';
  }
  declare readonly code: 'arguments_invalid';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('arguments_invalid', message, details, options);
  }
}

/** The model called a tool that the agent does not have. Code: `unknown_tool`. */
export class UnknownToolError extends OpenWorkerError {
  static {
    this.prototype.name = 'UnknownToolError';
  }
  declare readonly code: 'unknown_tool';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('unknown_tool', message, details, options);
  }
}

/** The model called a built-in tool that is off for this agent. Code: `tool_disabled`. */
export class ToolDisabledError extends OpenWorkerError {
  static {
    this.prototype.name = 'ToolDisabledError';
  }
  declare readonly code: 'tool_disabled';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('tool_disabled', message, details, options);
  }
}

/** The answer was cut off at its output limit, so its tool calls were not run. Code: `call_cut_off`. */
export class CallCutOffError extends OpenWorkerError {
  static {
    this.prototype.name = 'CallCutOffError';
  }
  declare readonly code: 'call_cut_off';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('call_cut_off', message, details, options);
  }
}

/** The tool returned an error. Code: `tool_failed`. */
export class ToolFailedError extends OpenWorkerError {
  static {
    this.prototype.name = 'ToolFailedError';
  }
  declare readonly code: 'tool_failed';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('tool_failed', message, details, options);
  }
}

/** The tool panicked; the process lives on. Code: `tool_panicked`. */
export class ToolPanickedError extends OpenWorkerError {
  static {
    this.prototype.name = 'ToolPanickedError';
  }
  declare readonly code: 'tool_panicked';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('tool_panicked', message, details, options);
  }
}

/** The tool did not finish in time. Code: `tool_timeout`. The same request may succeed later. */
export class ToolTimeoutError extends OpenWorkerError {
  static {
    this.prototype.name = 'ToolTimeoutError';
  }
  declare readonly code: 'tool_timeout';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('tool_timeout', message, details, options);
  }
}

/** A person or a rule denied the action. Code: `denied`. */
export class DeniedError extends OpenWorkerError {
  static {
    this.prototype.name = 'DeniedError';
  }
  declare readonly code: 'denied';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('denied', message, details, options);
  }
}

/**
 * The turn was cancelled, or the caller stopped waiting: then send again with the same submission ID to learn whether it was
 * accepted. Code: `cancelled`.
 */
export class CancelledError extends OpenWorkerError {
  static {
    this.prototype.name = 'CancelledError';
  }
  declare readonly code: 'cancelled';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('cancelled', message, details, options);
  }
}

/** The action had started when its process ended; whether it took effect is not known. Code: `outcome_unknown`. */
export class OutcomeUnknownError extends OpenWorkerError {
  static {
    this.prototype.name = 'OutcomeUnknownError';
  }
  declare readonly code: 'outcome_unknown';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('outcome_unknown', message, details, options);
  }
}

/** The action returned, and its process ended before hooks and guardrails had looked at the output. Code: `output_lost`. */
export class OutputLostError extends OpenWorkerError {
  static {
    this.prototype.name = 'OutputLostError';
  }
  declare readonly code: 'output_lost';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('output_lost', message, details, options);
  }
}

/**
 * The application's own check of the action failed, so it was not run; nobody has refused it. Code: `check_failed`. The same
 * request may succeed later.
 */
export class CheckFailedError extends OpenWorkerError {
  static {
    this.prototype.name = 'CheckFailedError';
  }
  declare readonly code: 'check_failed';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('check_failed', message, details, options);
  }
}

/** The reviewer did not answer in time; a person is asked. Code: `review_timeout`. The same request may succeed later. */
export class ReviewTimeoutError extends OpenWorkerError {
  static {
    this.prototype.name = 'ReviewTimeoutError';
  }
  declare readonly code: 'review_timeout';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('review_timeout', message, details, options);
  }
}

/**
 * The reviewer's answer is not of the form that it must have, or the action is too large to review; a person is asked. Code:
 * `review_invalid`.
 */
export class ReviewInvalidError extends OpenWorkerError {
  static {
    this.prototype.name = 'ReviewInvalidError';
  }
  declare readonly code: 'review_invalid';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('review_invalid', message, details, options);
  }
}

/** A guardrail blocked the text; the message names it and gives its reason. Code: `guardrail_blocked`. */
export class GuardrailBlockedError extends OpenWorkerError {
  static {
    this.prototype.name = 'GuardrailBlockedError';
  }
  declare readonly code: 'guardrail_blocked';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('guardrail_blocked', message, details, options);
  }
}

/**
 * A guardrail failed, did not answer in time, or the text is over 128,000 bytes; what it guards did not pass. Code:
 * `guardrail_failed`. The same request may succeed later.
 */
export class GuardrailFailedError extends OpenWorkerError {
  static {
    this.prototype.name = 'GuardrailFailedError';
  }
  declare readonly code: 'guardrail_failed';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('guardrail_failed', message, details, options);
  }
}

/** A guardrail that is in force is not registered in this process. Code: `guardrail_missing`. The same request may succeed later. */
export class GuardrailMissingError extends OpenWorkerError {
  static {
    this.prototype.name = 'GuardrailMissingError';
  }
  declare readonly code: 'guardrail_missing';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('guardrail_missing', message, details, options);
  }
}

/** A before-model hook refused the request; the message gives its reason. Code: `hook_vetoed`. */
export class HookVetoedError extends OpenWorkerError {
  static {
    this.prototype.name = 'HookVetoedError';
  }
  declare readonly code: 'hook_vetoed';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('hook_vetoed', message, details, options);
  }
}

/** A hook failed or did not answer in time. Code: `hook_failed`. The same request may succeed later. */
export class HookFailedError extends OpenWorkerError {
  static {
    this.prototype.name = 'HookFailedError';
  }
  declare readonly code: 'hook_failed';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('hook_failed', message, details, options);
  }
}

/**
 * The file is of a kind that is not taken, is damaged, is not what it is said to be, or the model does not take its kind; the
 * message names it. Code: `unsupported_media`.
 */
export class UnsupportedMediaError extends OpenWorkerError {
  static {
    this.prototype.name = 'UnsupportedMediaError';
  }
  declare readonly code: 'unsupported_media';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('unsupported_media', message, details, options);
  }
}

/**
 * A file, or the files of a message together, are over a bound, ours or the model's own; the message names it. Code:
 * `attachment_too_large`.
 */
export class AttachmentTooLargeError extends OpenWorkerError {
  static {
    this.prototype.name = 'AttachmentTooLargeError';
  }
  declare readonly code: 'attachment_too_large';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('attachment_too_large', message, details, options);
  }
}

/**
 * The session keeps as many files, or as many bytes of them, as it may; files that were sent stay, so use a new session. Code:
 * `attachment_quota_exceeded`.
 */
export class AttachmentQuotaExceededError extends OpenWorkerError {
  static {
    this.prototype.name = 'AttachmentQuotaExceededError';
  }
  declare readonly code: 'attachment_quota_exceeded';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('attachment_quota_exceeded', message, details, options);
  }
}

/**
 * The session has no such file: it was never uploaded, its upload was not committed or has expired, or a guardrail's redaction
 * took its place; send it again. Code: `attachment_not_found`.
 */
export class AttachmentNotFoundError extends OpenWorkerError {
  static {
    this.prototype.name = 'AttachmentNotFoundError';
  }
  declare readonly code: 'attachment_not_found';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('attachment_not_found', message, details, options);
  }
}

/** Bytes or a description of a file differ from those that came before, or from what was announced. Code: `upload_conflict`. */
export class UploadConflictError extends OpenWorkerError {
  static {
    this.prototype.name = 'UploadConflictError';
  }
  declare readonly code: 'upload_conflict';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('upload_conflict', message, details, options);
  }
}

/** A guardrail is in force that cannot look into a file, since it is no text; the message names both. Code: `uninspectable_content`. */
export class UninspectableContentError extends OpenWorkerError {
  static {
    this.prototype.name = 'UninspectableContentError';
  }
  declare readonly code: 'uninspectable_content';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('uninspectable_content', message, details, options);
  }
}

/**
 * The conversation to import breaks a rule; the message names the item and the rule, and no session was made. Code:
 * `invalid_history`.
 */
export class InvalidHistoryError extends OpenWorkerError {
  static {
    this.prototype.name = 'InvalidHistoryError';
  }
  declare readonly code: 'invalid_history';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('invalid_history', message, details, options);
  }
}

/** Another process holds the store's write lock; nothing was written. Code: `store_busy`. The same request may succeed later. */
export class StoreBusyError extends OpenWorkerError {
  static {
    this.prototype.name = 'StoreBusyError';
  }
  declare readonly code: 'store_busy';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('store_busy', message, details, options);
  }
}

/** The disk that holds the store is full; nothing was written. Code: `store_full`. The same request may succeed later. */
export class StoreFullError extends OpenWorkerError {
  static {
    this.prototype.name = 'StoreFullError';
  }
  declare readonly code: 'store_full';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('store_full', message, details, options);
  }
}

/** The store cannot be written by this process. Code: `store_read_only`. */
export class StoreReadOnlyError extends OpenWorkerError {
  static {
    this.prototype.name = 'StoreReadOnlyError';
  }
  declare readonly code: 'store_read_only';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('store_read_only', message, details, options);
  }
}

/** The store is damaged; restore a back-up. Code: `store_corrupt`. */
export class StoreCorruptError extends OpenWorkerError {
  static {
    this.prototype.name = 'StoreCorruptError';
  }
  declare readonly code: 'store_corrupt';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('store_corrupt', message, details, options);
  }
}

/** The store was written by a newer version, which this build must not touch. Code: `store_too_new`. */
export class StoreTooNewError extends OpenWorkerError {
  static {
    this.prototype.name = 'StoreTooNewError';
  }
  declare readonly code: 'store_too_new';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('store_too_new', message, details, options);
  }
}

/** The store is on a file system, or of a kind, that cannot keep the guarantees. Code: `store_unsupported`. */
export class StoreUnsupportedError extends OpenWorkerError {
  static {
    this.prototype.name = 'StoreUnsupportedError';
  }
  declare readonly code: 'store_unsupported';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('store_unsupported', message, details, options);
  }
}

/** The store could not be reached or read. Code: `store_unavailable`. The same request may succeed later. */
export class StoreUnavailableError extends OpenWorkerError {
  static {
    this.prototype.name = 'StoreUnavailableError';
  }
  declare readonly code: 'store_unavailable';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('store_unavailable', message, details, options);
  }
}

/** The harness or the stream was closed. Code: `closed`. */
export class ClosedError extends OpenWorkerError {
  static {
    this.prototype.name = 'ClosedError';
  }
  declare readonly code: 'closed';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('closed', message, details, options);
  }
}

/** A client cannot start the runtime: its program is not there, not for this machine, or does not start. Code: `runtime_not_found`. */
export class RuntimeNotFoundError extends OpenWorkerError {
  static {
    this.prototype.name = 'RuntimeNotFoundError';
  }
  declare readonly code: 'runtime_not_found';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('runtime_not_found', message, details, options);
  }
}

/**
 * The runtime that a client had started ended; open the same state directory again, and what was under way goes on. Code:
 * `runtime_exited`. The same request may succeed later.
 */
export class RuntimeExitedError extends OpenWorkerError {
  static {
    this.prototype.name = 'RuntimeExitedError';
  }
  declare readonly code: 'runtime_exited';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('runtime_exited', message, details, options);
  }
}

/** Client and runtime speak no common version of the protocol; install matching versions. Code: `incompatible_version`. */
export class IncompatibleVersionError extends OpenWorkerError {
  static {
    this.prototype.name = 'IncompatibleVersionError';
  }
  declare readonly code: 'incompatible_version';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('incompatible_version', message, details, options);
  }
}

/** A line is longer than 1,048,576 bytes, or a message of several lines than its bound; it was not read. Code: `frame_too_large`. */
export class FrameTooLargeError extends OpenWorkerError {
  static {
    this.prototype.name = 'FrameTooLargeError';
  }
  declare readonly code: 'frame_too_large';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('frame_too_large', message, details, options);
  }
}

/** A fault of ours; please report it with the message. Code: `internal`. */
export class InternalError extends OpenWorkerError {
  static {
    this.prototype.name = 'InternalError';
  }
  declare readonly code: 'internal';

  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {
    super('internal', message, details, options);
  }
}

type ErrorClass = new (message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) => OpenWorkerError;

interface Row {
  readonly type: ErrorClass;
  readonly number: number;
  readonly retryable: boolean;
}

const rows: ReadonlyMap<string, Row> = new Map<string, Row>([
  ['invalid_request', { type: InvalidRequestError, number: -32602, retryable: false }],
  ['invalid_agent', { type: InvalidAgentError, number: -32010, retryable: false }],
  ['invalid_tool', { type: InvalidToolError, number: -32011, retryable: false }],
  ['invalid_limits', { type: InvalidLimitsError, number: -32012, retryable: false }],
  ['invalid_guidance', { type: InvalidGuidanceError, number: -32013, retryable: false }],
  ['invalid_workspace', { type: InvalidWorkspaceError, number: -32014, retryable: false }],
  ['unknown_provider', { type: UnknownProviderError, number: -32015, retryable: false }],
  ['unsupported_option', { type: UnsupportedOptionError, number: -32016, retryable: false }],
  ['definition_conflict', { type: DefinitionConflictError, number: -32017, retryable: false }],
  ['submission_conflict', { type: SubmissionConflictError, number: -32018, retryable: false }],
  ['agent_not_found', { type: AgentNotFoundError, number: -32020, retryable: false }],
  ['session_not_found', { type: SessionNotFoundError, number: -32021, retryable: false }],
  ['session_deleted', { type: SessionDeletedError, number: -32022, retryable: false }],
  ['session_parked', { type: SessionParkedError, number: -32023, retryable: false }],
  ['foreign_store', { type: ForeignStoreError, number: -32024, retryable: false }],
  ['wrong_agent', { type: WrongAgentError, number: -32025, retryable: false }],
  ['run_not_found', { type: RunNotFoundError, number: -32026, retryable: false }],
  ['interaction_not_found', { type: InteractionNotFoundError, number: -32027, retryable: false }],
  ['already_resolved', { type: AlreadyResolvedError, number: -32028, retryable: false }],
  ['session_busy', { type: SessionBusyError, number: -32030, retryable: true }],
  ['queue_full', { type: QueueFullError, number: -32031, retryable: true }],
  ['credentials_missing', { type: CredentialsMissingError, number: -32032, retryable: true }],
  ['registration_missing', { type: RegistrationMissingError, number: -32033, retryable: true }],
  ['provider_error', { type: ProviderError, number: -32040, retryable: false }],
  ['provider_overloaded', { type: ProviderOverloadedError, number: -32041, retryable: true }],
  ['provider_unreachable', { type: ProviderUnreachableError, number: -32042, retryable: true }],
  ['rate_limited', { type: RateLimitedError, number: -32043, retryable: true }],
  ['quota_exhausted', { type: QuotaExhaustedError, number: -32044, retryable: false }],
  ['authentication_failed', { type: AuthenticationFailedError, number: -32045, retryable: false }],
  ['model_not_found', { type: ModelNotFoundError, number: -32046, retryable: false }],
  ['request_too_large', { type: RequestTooLargeError, number: -32047, retryable: false }],
  ['context_exhausted', { type: ContextExhaustedError, number: -32048, retryable: false }],
  ['stream_cut', { type: StreamCutError, number: -32049, retryable: true }],
  ['content_filtered', { type: ContentFilteredError, number: -32050, retryable: false }],
  ['call_lost', { type: CallLostError, number: -32052, retryable: true }],
  ['recovery_exhausted', { type: RecoveryExhaustedError, number: -32051, retryable: false }],
  ['arguments_invalid', { type: ArgumentsInvalidError, number: -32060, retryable: false }],
  ['unknown_tool', { type: UnknownToolError, number: -32061, retryable: false }],
  ['tool_disabled', { type: ToolDisabledError, number: -32062, retryable: false }],
  ['call_cut_off', { type: CallCutOffError, number: -32063, retryable: false }],
  ['tool_failed', { type: ToolFailedError, number: -32064, retryable: false }],
  ['tool_panicked', { type: ToolPanickedError, number: -32065, retryable: false }],
  ['tool_timeout', { type: ToolTimeoutError, number: -32066, retryable: true }],
  ['denied', { type: DeniedError, number: -32067, retryable: false }],
  ['cancelled', { type: CancelledError, number: -32068, retryable: false }],
  ['outcome_unknown', { type: OutcomeUnknownError, number: -32069, retryable: false }],
  ['output_lost', { type: OutputLostError, number: -32085, retryable: false }],
  ['check_failed', { type: CheckFailedError, number: -32086, retryable: true }],
  ['review_timeout', { type: ReviewTimeoutError, number: -32087, retryable: true }],
  ['review_invalid', { type: ReviewInvalidError, number: -32088, retryable: false }],
  ['guardrail_blocked', { type: GuardrailBlockedError, number: -32089, retryable: false }],
  ['guardrail_failed', { type: GuardrailFailedError, number: -32090, retryable: true }],
  ['guardrail_missing', { type: GuardrailMissingError, number: -32091, retryable: true }],
  ['hook_vetoed', { type: HookVetoedError, number: -32092, retryable: false }],
  ['hook_failed', { type: HookFailedError, number: -32093, retryable: true }],
  ['unsupported_media', { type: UnsupportedMediaError, number: -32094, retryable: false }],
  ['attachment_too_large', { type: AttachmentTooLargeError, number: -32095, retryable: false }],
  ['attachment_quota_exceeded', { type: AttachmentQuotaExceededError, number: -32053, retryable: false }],
  ['attachment_not_found', { type: AttachmentNotFoundError, number: -32054, retryable: false }],
  ['upload_conflict', { type: UploadConflictError, number: -32055, retryable: false }],
  ['uninspectable_content', { type: UninspectableContentError, number: -32056, retryable: false }],
  ['invalid_history', { type: InvalidHistoryError, number: -32019, retryable: false }],
  ['store_busy', { type: StoreBusyError, number: -32070, retryable: true }],
  ['store_full', { type: StoreFullError, number: -32071, retryable: true }],
  ['store_read_only', { type: StoreReadOnlyError, number: -32072, retryable: false }],
  ['store_corrupt', { type: StoreCorruptError, number: -32073, retryable: false }],
  ['store_too_new', { type: StoreTooNewError, number: -32074, retryable: false }],
  ['store_unsupported', { type: StoreUnsupportedError, number: -32075, retryable: false }],
  ['store_unavailable', { type: StoreUnavailableError, number: -32076, retryable: true }],
  ['closed', { type: ClosedError, number: -32080, retryable: false }],
  ['runtime_not_found', { type: RuntimeNotFoundError, number: -32081, retryable: false }],
  ['runtime_exited', { type: RuntimeExitedError, number: -32082, retryable: true }],
  ['incompatible_version', { type: IncompatibleVersionError, number: -32084, retryable: false }],
  ['frame_too_large', { type: FrameTooLargeError, number: -32034, retryable: false }],
  ['internal', { type: InternalError, number: -32603, retryable: false }],
]);

const codes: ReadonlyMap<number, Code> = new Map([...rows].map(([code, row]) => [row.number, code]));

/** The error of a code: of its class, or a plain OpenWorkerError for one that this version does not know. */
export function errorOf(code: Code, message: string, details: ErrorDetails = {}, cause?: unknown, retryable?: boolean): OpenWorkerError {
  const options: OpenWorkerErrorOptions = { retryable, ...(cause === undefined ? {} : { cause }) };
  const row = rows.get(code);
  return row ? new row.type(message, details, options) : new OpenWorkerError(code, message, details, options);
}

/** Whether it is an error of the SDK, of this copy of the package or another, and of a code if one is given. It never throws. */
export function isError(thrown: unknown, code?: Code): thrown is OpenWorkerError {
  try {
    return typeof thrown === 'object' && thrown !== null && mark in thrown && (code === undefined || (thrown as unknown as OpenWorkerError).code === code);
  } catch {
    return false; // a proxy that lets nobody look
  }
}

/** The number that a code has as the `code` of an error of JSON-RPC; that of `internal` for one that is not known. */
export function numberOf(code: Code): number {
  return rows.get(code)?.number ?? -32603;
}

/** The code that an error's number in JSON-RPC stands for: `internal` where it stands for none. */
export function codeOf(number: number): Code {
  return codes.get(number) ?? 'internal';
}
