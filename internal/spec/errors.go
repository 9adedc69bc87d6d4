package spec

import (
	"fmt"
	"strings"

	"github.com/openworkerai/openworker/api"
)

const errorBase = `import type { Code } from './protocol.js';

/** What an error may say beside its message, by name: for example ` + "`run`" + ` with session_busy. */
export type ErrorDetails = Readonly<Record<string, string>>;

/** How an error is made: ErrorOptions, and whether the same request may succeed later, where that is not its code's. */
export interface OpenWorkerErrorOptions extends ErrorOptions {
  retryable?: boolean | undefined;
}

/** What errors of the SDK bear: a program may have two copies of the package, whose classes differ and whose errors meet. */
const mark = Symbol.for('@openworkerai/harness-sdk/error');

/**
 * The error of everything that the SDK refuses or fails at. Programs branch on its class or its ` + "`code`" + `; its message says what
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

`

const errorTable = `type ErrorClass = new (message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) => OpenWorkerError;

interface Row {
  readonly type: ErrorClass;
  readonly number: number;
  readonly retryable: boolean;
}

const rows: ReadonlyMap<string, Row> = new Map<string, Row>([
%s]);

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

/** The number that a code has as the ` + "`code`" + ` of an error of JSON-RPC; that of ` + "`internal`" + ` for one that is not known. */
export function numberOf(code: Code): number {
  return rows.get(code)?.number ?? %d;
}

/** The code that an error's number in JSON-RPC stands for: ` + "`internal`" + ` where it stands for none. */
export function codeOf(number: number): Code {
  return codes.get(number) ?? 'internal';
}
`

// Errors is the table of codes as a module of classes.
func Errors() string {
	w := &writer{}
	fmt.Fprintf(w, generated, "spec/codes.json")
	w.WriteString(errorBase)
	var rows strings.Builder
	internal := 0
	for _, c := range api.Codes() {
		about := upper(c.Meaning) + ". Code: `" + string(c.Code) + "`."
		if c.Retryable {
			about += " The same request may succeed later."
		}
		w.comment("", about)
		name := errorClass(c.Code)
		fmt.Fprintf(w, "export class %s extends OpenWorkerError {\n  static {\n    this.prototype.name = %s;\n  }\n  declare readonly code: %s;\n\n"+
			"  constructor(message: string, details?: ErrorDetails, options?: OpenWorkerErrorOptions) {\n    super(%[3]s, message, details, options);\n  }\n}\n\n",
			name, quote(name), quote(string(c.Code)))
		fmt.Fprintf(&rows, "  [%s, { type: %s, number: %d, retryable: %t }],\n", quote(string(c.Code)), name, c.RPC, c.Retryable)
		if c.Code == api.CodeInternal {
			internal = c.RPC
		}
	}
	fmt.Fprintf(w, errorTable, rows.String(), internal)
	return w.String()
}

// errorClass is the name of a code's class: session_busy has SessionBusyError.
func errorClass(code api.Code) string {
	return strings.TrimSuffix(camel(string(code)), "Error") + "Error"
}
