import type { ErrorRequestHandler } from 'express';
import { OpenWorkerError, type Code } from '@openworkerai/harness-sdk';

/** What of ours goes wrong in a request, in the form of the SDK's errors. */
export class RequestError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** What a conversation is that does not exist, and one of somebody else: nobody learns which. */
export function absent(id: string): RequestError {
  return new RequestError(404, 'session_not_found', `there is no conversation ${JSON.stringify(id)}`);
}

/** The HTTP statuses of what a request can meet. The others are faults of this server: 500. */
const statuses: ReadonlyMap<Code, number> = new Map<Code, number>([
  ['invalid_request', 400],
  ['unsupported_option', 422],
  ['submission_conflict', 409],
  ['session_not_found', 404],
  ['session_deleted', 410],
  ['run_not_found', 404],
  ['interaction_not_found', 404],
  ['already_resolved', 409],
  ['arguments_invalid', 422],
  ['session_busy', 409],
  ['queue_full', 429],
  ['unsupported_media', 415],
  ['attachment_too_large', 413],
  ['attachment_quota_exceeded', 409],
  ['attachment_not_found', 404],
  ['upload_conflict', 409],
  ['guardrail_blocked', 422],
  ['store_busy', 503],
  ['store_full', 507],
  ['closed', 503],
  ['runtime_exited', 503],
]);

/** Answers with what went wrong: a code for programs, and a message that holds no secret. */
export const answerErrors: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  if (response.headersSent) {
    next(error); // Express ends the connection
    return;
  }
  if (error instanceof OpenWorkerError && statuses.has(error.code)) {
    const { code, message, details, retryable } = error;
    response.status(statuses.get(code) ?? 500).json({ code, message, details, retryable });
  } else if (error instanceof RequestError) {
    response.status(error.status).json({ code: error.code, message: error.message });
  } else if (isParserError(error)) {
    response.status(error.status).json({ code: error.status === 413 ? 'request_too_large' : 'invalid_request', message: error.message });
  } else {
    console.error(error);
    response.status(500).json({ code: 'internal', message: 'this server has failed; it has told its log why' });
  }
};

/** Whether it is of the parsers of bodies, which say by `expose` that it is the client's. */
function isParserError(error: unknown): error is { status: number; message: string } {
  const { status, expose } = (typeof error === 'object' && error !== null ? error : {}) as { status?: unknown; expose?: unknown };
  return typeof status === 'number' && expose === true;
}
