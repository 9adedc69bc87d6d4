// Generated from spec/rpc.json by `npm run generate`. Do not edit: change the Go types and their comments.

// A field with "?" is absent where it is empty: "", 0, false, a list without items. A later runtime may send fields that are not here.

/** The version of the protocol that these types are of. */
export const protocolVersion = 1;

/**
 * The number of the error by which a client says that a tool's body did not begin, since its time to begin had passed. It has no
 * code.
 */
export const tooLate = -32083;

/** The most that there may be of something; one more is refused. */
export const bounds = {
  /** A line, without its newline. */
  maxFrameBytes: 1_048_576,
  /** A message of several lines. */
  maxMessageBytes: 134_217_728,
  /** A message of a user that is a text. */
  maxTextBytes: 256_000,
  /** The blocks of a user's message with content. */
  maxBlocks: 32,
  /** The text blocks of such a message together. */
  maxBlockTextBytes: 32_000,
  /** A file. */
  maxFileBytes: 8_388_608,
  /** The files of a message together. */
  maxMessageFileBytes: 16_777_216,
  /** The name of a file. */
  maxFileNameBytes: 255,
  /** A chunk of an upload: each but the last has as many. */
  uploadChunkBytes: 262_144,
  /** What a tool returns; the rest is cut off with a mark. */
  maxToolOutputBytes: 256_000,
  /** The tools of an agent. */
  maxAgentTools: 128,
  /** The rows of a page. */
  maxPage: 1_000,
} as const;

/** An object of JSON. What its values are is not known here. */
export type JsonObject = { [key: string]: unknown };

/** Any JSON. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue | undefined };

/** A time as RFC 3339 has it, which `new Date` reads: 2026-01-31T12:00:00.123Z. */
export type Timestamp = string;

/** Bytes in standard base64. */
export type Base64 = string;

/** A block of an accepted message: a text, or a stored file. */
export interface AcceptedBlock {
  type: BlockType;
  text?: string | undefined;
  name?: string | undefined;
  /** Of the attachment. */
  id?: string | undefined;
  media_type?: string | undefined;
  /** In bytes. */
  size?: number | undefined;
  /** Of the bytes, in hex. */
  sha256?: string | undefined;
}

/** A call that the application's hard check looks at (AP2). */
export interface Action {
  callback: string;
  session: SessionReference;
  run?: string | undefined;
  callId?: string | undefined;
  agent: AgentReference;
  workspace?: string | undefined;
  origin?: string | undefined;
  owner?: string | undefined;
  metadata?: Record<string, string> | undefined;
  tool: string;
  effect: Effect;
  arguments: JsonObject;
  /** The arguments are a person's. */
  changed?: boolean | undefined;
}

/**
 * What a session is doing (SE3).
 *
 * - `idle`: no turn is under way
 * - `running`: a live process works on it; never without a live lease
 * - `waiting`: for a person, a credential, a registration or a time
 * - `recovering`: its process is gone or silent and none has taken it over yet
 */
export type Activity = 'idle' | 'running' | 'waiting' | 'recovering';

/**
 * An agent's immutable definition (AG1). Its identity is the SHA-256 of its canonical JSON with defaults left out (AG2), so a
 * field that is left out and its explicit default are the same.
 */
export interface AgentDefinition {
  /** 1–128 of A–Z a–z 0–9 . _ -, starting with a letter or digit; unique for an owner (AG3). */
  name: string;
  instructions?: string | undefined;
  tools?: ToolDeclaration[] | undefined;
  approvals?: Approvals | undefined;
  /** Used where neither the session nor the turn names a model (RU11). */
  defaultModel: ModelRef;
  limits?: Limits | undefined;
  builtinTools?: BuiltinTools | undefined;
  unknownOutcome?: UnknownOutcome | undefined;
  autoSkipQuestions?: boolean | undefined;
  autoApproverContext?: string | undefined;
  compaction?: CompactionOptions | undefined;
  /**
   * Not offered by every host: `options` of Capabilities tells. A host that lacks one refuses the definition with
   * unsupported_option.
   */
  guardrails?: string[] | undefined;
  hooks?: string[] | undefined;
  memory?: JsonValue | undefined;
  planning?: JsonValue | undefined;
  scheduling?: JsonValue | undefined;
  delegation?: JsonValue | undefined;
  team?: JsonValue | undefined;
  workspaceTools?: JsonValue | undefined;
  sandbox?: JsonValue | undefined;
}

/** A page of agents; `next` is absent on the last one. */
export interface AgentPage {
  agents: AgentDefinition[];
  next?: string | undefined;
}

/** AgentQuery pages through registered agents. */
export interface AgentQuery {
  owner?: string | undefined;
  cursor?: string | undefined;
  /** Default 100, at most 1,000. */
  limit?: number | undefined;
}

/** AgentReference identifies a registered agent. */
export interface AgentReference {
  name: string;
  /** Hex SHA-256 of the canonical definition. */
  digest: string;
}

/** Answer resolves an interaction. The same answer again is a no-op; a different one is already_resolved (AP3). */
export type Answer =
  /** Approval: this call, with `arguments` instead of its own where they are given. */
  | {
      decision: 'allow';
      /**
       * `arguments` with "allow": a JSON object that the action runs with instead of its own. It must match the tool's schema, and
       * the hard checks are made again with it right before the action starts. At most 256,000 bytes.
       */
      arguments?: JsonObject | undefined;
      /** `by` names who answered, for the journal. */
      by?: string | undefined;
    }
  /** Approval: this tool, for the session. */
  | {
      decision: 'allow_session';
      /** `by` names who answered, for the journal. */
      by?: string | undefined;
    }
  /** Approval: not this call. */
  | {
      decision: 'deny';
      /** `reason` of a denial or failure; passed on to the model, as quoted. At most 32,000 bytes. */
      reason?: string | undefined;
      /** `by` names who answered, for the journal. */
      by?: string | undefined;
    }
  /** Unknown outcome: it took effect; `output` is its result. */
  | {
      decision: 'succeeded';
      /** `output` with "succeeded": what the action returned. At most 256,000 bytes. */
      output?: string | undefined;
      /** `by` names who answered, for the journal. */
      by?: string | undefined;
    }
  /** Unknown outcome: it did not, and will not; `reason` says why. */
  | {
      decision: 'failed';
      /** `reason` of a denial or failure; passed on to the model, as quoted. At most 32,000 bytes. */
      reason?: string | undefined;
      /** `by` names who answered, for the journal. */
      by?: string | undefined;
    }
  /** Unknown outcome: run it again under the same call ID. */
  | {
      decision: 'retry';
      /** `by` names who answered, for the journal. */
      by?: string | undefined;
    }
  /** Question: `answers` says what. */
  | {
      decision: 'answered';
      /** `answers` with "answered": one, or several where the question allows it. At most 32,000 bytes in all. */
      answers: string[];
      /** `by` names who answered, for the journal. */
      by?: string | undefined;
    }
  /** Question: nobody answers it. */
  | {
      decision: 'skipped';
      /** `by` names who answered, for the journal. */
      by?: string | undefined;
    };

export interface ApprovalInteraction {
  id: string;
  kind: 'approval';
  run: string;
  /** The action in question; its parts may be withheld. */
  call?: InteractionCall | undefined;
  /** What a reviewer found before a person was asked (AP5). */
  review?: Review | undefined;
  /** `origin` says where the action comes from: the session's own agent, or a child. */
  origin?: string | undefined;
  asked: Timestamp;
}

/**
 * ApprovalMode says who decides on a tool call that no hard check and no grant has decided (AP1).
 *
 * - `always`: ask a person for each call; the default
 * - `only`: ask for the listed tools, approve the others by application policy
 * - `auto`: a reviewer model decides
 * - `never`: no review; hard checks still apply
 */
export type ApprovalMode = 'always' | 'only' | 'auto' | 'never';

/** An agent's approval rule. Left out, it means "always". */
export interface Approvals {
  mode?: ApprovalMode | undefined;
  /** Catalogue names, with "only". */
  tools?: string[] | undefined;
  /** With "auto". */
  reviewerModel?: ModelRef | undefined;
}

export interface AssistantImport {
  type: 'assistant';
  text: string;
}

/** Stored: `id` names them. */
export interface AttachmentSource {
  type: 'attachment';
  /**
   * What the file is said to be; with "attachment" it may be absent. What it is in truth is found in its bytes, and one that
   * differs is refused (AT4).
   */
  mediaType?: string | undefined;
  /** `id` of an attachment that was committed in this session. */
  id: string;
  /** `size` in bytes and `sha256` in hex are told of stored files. They may be absent in a message; given, they must be right. */
  size?: number | undefined;
  sha256?: string | undefined;
}

/** In `data`, in standard base64. */
export interface Base64Source {
  type: 'base64';
  /**
   * What the file is said to be; with "attachment" it may be absent. What it is in truth is found in its bytes, and one that
   * differs is refused (AT4).
   */
  mediaType?: string | undefined;
  data: string;
}

/** The next events of a subscription. With `end` it is over, and needs no event/unsubscribe. */
export interface Batch {
  events: Event[];
  end?: boolean | undefined;
}

/** BeginUpload announces a file. */
export interface BeginUpload {
  session: string;
  file: UploadRequest;
}

/**
 * The kind of a content block.
 *
 * - `image`: PNG, JPEG, GIF or WebP that does not move
 * - `document`: a PDF, or a text file
 */
export type BlockType = 'text' | 'image' | 'document';

/** BuiltinTools switches the session's own tools (BT1). Absent: on when the agent has any tool, off otherwise. */
export interface BuiltinTools {
  askUser?: boolean | undefined;
  readHistory?: boolean | undefined;
}

/**
 * In the parameters of each request of the runtime, and names it while it is under way. Alone it is those of callback/cancel:
 * nobody waits for the answer any more, and what runs for it should end. A tool's answer is still wanted.
 */
export interface Callback {
  callback: string;
}

/**
 * CancelRequest gives up a request of the client's, by its id. Its answer still comes, mostly the error cancelled. What an
 * event/next that was given up had fetched is lost to its subscription: end that one, and begin another behind the last event.
 */
export interface CancelRequest {
  id: string | number;
}

/** The data of turn_cancel_requested. */
export interface CancelRequested {
  by?: string | undefined;
  reason?: string | undefined;
}

/** Capabilities tell a client what this host can do before it sends anything (FA9). */
export interface Capabilities {
  version: string;
  /** The store's identity, as in references. */
  store: string;
  /** `options` lists the optional fields that this host accepts, by their JSON path, for example "session.initialHistory". */
  options: string[];
  providers: string[];
  /** `guardrails` and `hooks` are the names that are registered in this process. */
  guardrails?: string[] | undefined;
  hooks?: string[] | undefined;
}

/** One of a question's proposed answers: `label` is the answer, `description` says more. */
export interface Choice {
  label: string;
  description?: string | undefined;
}

/** A part of a file: 262,144 bytes, the last one the rest. Data is base64 in JSON. */
export interface Chunk {
  session: string;
  upload: string;
  chunk: UploadChunk;
}

/** ClientInfo names a client, for logs. */
export interface ClientInfo {
  name: string;
  version: string;
}

/** Code names one kind of failure. The list is closed (FA8): see spec/codes.json. */
export type Code =
  | 'invalid_request'
  | 'invalid_agent'
  | 'invalid_tool'
  | 'invalid_limits'
  | 'invalid_guidance'
  | 'invalid_workspace'
  | 'unknown_provider'
  | 'unsupported_option'
  | 'definition_conflict'
  | 'submission_conflict'
  | 'agent_not_found'
  | 'session_not_found'
  | 'session_deleted'
  | 'session_parked'
  | 'foreign_store'
  | 'wrong_agent'
  | 'run_not_found'
  | 'interaction_not_found'
  | 'already_resolved'
  | 'session_busy'
  | 'queue_full'
  | 'credentials_missing'
  | 'registration_missing'
  | 'provider_error'
  | 'provider_overloaded'
  | 'provider_unreachable'
  | 'rate_limited'
  | 'quota_exhausted'
  | 'authentication_failed'
  | 'model_not_found'
  | 'request_too_large'
  | 'context_exhausted'
  | 'stream_cut'
  | 'content_filtered'
  | 'call_lost'
  | 'recovery_exhausted'
  | 'arguments_invalid'
  | 'unknown_tool'
  | 'tool_disabled'
  | 'call_cut_off'
  | 'tool_failed'
  | 'tool_panicked'
  | 'tool_timeout'
  | 'denied'
  | 'cancelled'
  | 'outcome_unknown'
  | 'output_lost'
  | 'check_failed'
  | 'review_timeout'
  | 'review_invalid'
  | 'guardrail_blocked'
  | 'guardrail_failed'
  | 'guardrail_missing'
  | 'hook_vetoed'
  | 'hook_failed'
  | 'unsupported_media'
  | 'attachment_too_large'
  | 'attachment_quota_exceeded'
  | 'attachment_not_found'
  | 'upload_conflict'
  | 'uninspectable_content'
  | 'invalid_history'
  | 'store_busy'
  | 'store_full'
  | 'store_read_only'
  | 'store_corrupt'
  | 'store_too_new'
  | 'store_unsupported'
  | 'store_unavailable'
  | 'closed'
  | 'runtime_not_found'
  | 'runtime_exited'
  | 'incompatible_version'
  | 'frame_too_large'
  | 'internal'
  | (string & {});

/** Compact summarises the older part of a session's history. */
export interface Compact {
  session: string;
  options?: TurnOptions | undefined;
}

/** The data of compaction_failed: this attempt gave no summary. */
export interface CompactionFailed {
  attempt: number;
  code: Code;
  message: string;
  /** When the next attempt may start; absent when there is none. */
  retry_at?: Timestamp | undefined;
  /**
   * No further attempt is made and the run goes on. The items are left out for the model, and a word of the host that says so
   * stands in their place: compaction_finished follows with it.
   */
  given_up?: boolean | undefined;
  usage?: Usage | undefined;
  guardrails?: GuardVerdict[] | undefined;
}

/**
 * The data of compaction_finished. `summary` stands for the items from then on; the complete history stays readable. Without
 * `items` and `item_bytes` nothing could be made smaller, and the call is tried as it is.
 */
export interface CompactionFinished {
  /**
   * The one that gave the summary; 0 where no model did: items were only shortened, or, with `items`, left out after a
   * compaction_failed that was given up.
   */
  attempt: number;
  summary?: string | undefined;
  items: number;
  /** As in CompactionStarted. */
  item_bytes?: number | undefined;
  /** An estimate of the context's size after. */
  tokens: number;
  usage: Usage;
  /** `guardrails` says what guardrails did to the request or to the summary. */
  guardrails?: GuardVerdict[] | undefined;
}

/** CompactionOptions guide how older history is summarised. */
export interface CompactionOptions {
  /** Absent inherits, empty clears, at most 32,000 bytes (GU2, GU3). */
  additionalInstructions?: string | undefined;
}

/** The data of compaction_started: older items are summarised (CO1). */
export interface CompactionStarted {
  attempt: number;
  epoch: number;
  model: ModelRef;
  /** How many items of the context are summarised, a summary before this one counted as one; 0 where long items are only shortened. */
  items: number;
  /** What longer items of the rest are shortened to for the model, 0 for no bound. */
  item_bytes?: number | undefined;
  /** An estimate of the context's size before. */
  tokens: number;
}

/**
 * One block of a message: a text, or a file (AT1). An empty one is none, and is refused with invalid_request. Those of a history
 * may be sent again as they are, in the same session.
 */
export type ContentBlock = TextBlock | ImageBlock | DocumentBlock;

/** CreateSession creates a session. */
export interface CreateSession {
  agent: AgentReference;
  options?: SessionOptions | undefined;
}

/** A secret; "" if there is none. */
export interface Credential {
  secret: string;
}

/** CredentialQuery asks for a provider's secret. */
export interface CredentialQuery {
  callback: string;
  provider: string;
}

/**
 * CredentialSource says where secrets come from (RE5).
 *
 * - `memory`: `secrets`, and what credential/set adds; gone with the process
 * - `environment`: the runtime's environment, for example OPENAI_API_KEY
 * - `file`: `file`, a JSON object of secrets by provider with mode 0600
 * - `callback`: credential/get is called before each model call
 */
export type CredentialSource = 'memory' | 'environment' | 'file' | 'callback';

/** Credentials say where secrets for providers come from. */
export type Credentials =
  /** `secrets`, and what credential/set adds; gone with the process. */
  | {
      source: 'memory';
      /** By provider, with memory. */
      secrets?: Record<string, string> | undefined;
    }
  /** The runtime's environment, for example OPENAI_API_KEY. */
  | {
      source: 'environment';
    }
  /** `file`, a JSON object of secrets by provider with mode 0600. */
  | {
      source: 'file';
      /** With file: its path. */
      file: string;
    }
  /** credential/get is called before each model call. */
  | {
      source: 'callback';
    };

/**
 * An answer's verdict.
 *
 * - `allow`: approval: this call, with `arguments` instead of its own where they are given
 * - `allow_session`: approval: this tool, for the session
 * - `deny`: approval: not this call
 * - `succeeded`: unknown outcome: it took effect; `output` is its result
 * - `failed`: unknown outcome: it did not, and will not; `reason` says why
 * - `retry`: unknown outcome: run it again under the same call ID
 * - `answered`: question: `answers` says what
 * - `skipped`: question: nobody answers it
 * - `cancelled`: how an interaction is resolved whose turn ended; nobody answers with it.
 */
export type Decision =
  | 'allow'
  | 'allow_session'
  | 'deny'
  | 'succeeded'
  | 'failed'
  | 'retry'
  | 'answered'
  | 'skipped'
  | 'cancelled';

/** DeleteOptions say when a session is not to be deleted. An empty one deletes whatever the session does. */
export interface DeleteOptions {
  /**
   * `idleBefore`, unless absent, keeps a session, with session_busy, that a turn is under way in or that was written to at that
   * time or later.
   */
  idleBefore?: Timestamp | undefined;
}

/** DeleteSession deletes a session. */
export interface DeleteSession {
  session: string;
  options?: DeleteOptions | undefined;
}

/**
 * The data of text_delta and reasoning_delta. A client drops the text that it has when any of call, attempt and epoch changes.
 * `from` is the byte offset of `text` in the attempt's text so far.
 */
export interface Delta {
  call: number;
  attempt: number;
  epoch: number;
  from: number;
  text: string;
}

/** A PDF, or a text file. */
export interface DocumentBlock {
  type: 'document';
  /** What the file is called in this message: a label of 1 to 255 bytes without control characters. */
  name: string;
  source: Source;
}

/**
 * Effect says what a repetition of a tool's action would do (RE3). Left out, it means "sideEffect".
 *
 * - `sideEffect`: must not happen twice: after a crash its outcome is unknown until it is inspected.
 * - `idempotent`: may be repeated under the same call ID without a second effect.
 * - `readOnly`: changes nothing.
 */
export type Effect = 'sideEffect' | 'idempotent' | 'readOnly';

/** Empty carries nothing. */
export type Empty = Record<string, never>;

/**
 * The data of an error: our own form of it. The error's number is that of the code's row in the table of codes, or JSON-RPC's own
 * for what is no request: -32700, -32600, -32601.
 */
export interface ErrorData {
  code: Code;
  details?: Record<string, string> | undefined;
  retryable?: boolean | undefined;
}

/** The session is there, and its agent is fixed. */
export interface SessionCreatedEvent extends JournalEvent {
  type: 'session_created';
  data: SessionCreated;
}

/** A part of the conversation that the session began with. */
export interface HistoryImportedEvent extends JournalEvent {
  type: 'history_imported';
  data: HistoryImported;
}

/** Another process goes on with the session, or is to. */
export interface SessionTakenOverEvent extends JournalEvent {
  type: 'session_taken_over';
  data: SessionTakenOver;
}

/** The last event; what came before it is removed. */
export interface SessionDeletedEvent extends JournalEvent {
  type: 'session_deleted';
  data?: undefined;
}

/** A message is durable; a repeated submission adds none. */
export interface TurnAcceptedEvent extends JournalEvent {
  type: 'turn_accepted';
  data: TurnAccepted;
}

/** A queued turn begins. */
export interface TurnStartedEvent extends JournalEvent {
  type: 'turn_started';
  data?: undefined;
}

/** The turn is to end; turn_ended says that it has. */
export interface TurnCancelRequestedEvent extends JournalEvent {
  type: 'turn_cancel_requested';
  data: CancelRequested;
}

/** The run's terminal event. */
export interface TurnEndedEvent extends JournalEvent {
  type: 'turn_ended';
  data: TurnEnded;
}

/** An attempt's intent, before the model is asked. */
export interface ModelCallStartedEvent extends JournalEvent {
  type: 'model_call_started';
  data: ModelCallStarted;
}

/** This attempt's deltas are void. */
export interface ModelCallFailedEvent extends JournalEvent {
  type: 'model_call_failed';
  data: ModelCallFailed;
}

/** A whole answer, with the calls that it asks for. */
export interface ModelCallFinishedEvent extends JournalEvent {
  type: 'model_call_finished';
  data: ModelCallFinished;
}

/** An attempt's intent; a side effect's function runs once it is durable. */
export interface ToolCallStartedEvent extends JournalEvent {
  type: 'tool_call_started';
  data: ToolCallStarted;
}

/** A call's one result, also where it was denied; a call that model_call_finished has with a code ends there. */
export interface ToolCallFinishedEvent extends JournalEvent {
  type: 'tool_call_finished';
  data: ToolCallFinished;
}

/** Its process ended before its outcome was stored. */
export interface ToolCallLostEvent extends JournalEvent {
  type: 'tool_call_lost';
  data: ToolCallLost;
}

/** An inspection settled nothing, or found that the attempt did not begin. */
export interface ToolCallInspectedEvent extends JournalEvent {
  type: 'tool_call_inspected';
  data: ToolCallInspected;
}

/** A function returned after its call was closed as unknown. */
export interface ToolOutcomeLateEvent extends JournalEvent {
  type: 'tool_outcome_late';
  data: ToolCallFinished;
}

/** A person is asked; a review that decides has the pair too. */
export interface InteractionRequiredEvent extends JournalEvent {
  type: 'interaction_required';
  data: InteractionRequired;
}

/** The answer is durable, or the turn was cancelled around it. */
export interface InteractionResolvedEvent extends JournalEvent {
  type: 'interaction_resolved';
  data: InteractionResolved;
}

/** The application's own check let it pass. */
export interface ToolCallCheckedEvent extends JournalEvent {
  type: 'tool_call_checked';
  data: ToolCallChecked;
}

/** Hooks and guardrails have its output now. */
export interface ToolCallReturnedEvent extends JournalEvent {
  type: 'tool_call_returned';
  data: ToolCallReturned;
}

/** An attempt's intent, before the reviewer model is asked. */
export interface ReviewStartedEvent extends JournalEvent {
  type: 'review_started';
  data: ReviewStarted;
}

/** Its verdict, or why there is none. */
export interface ReviewFinishedEvent extends JournalEvent {
  type: 'review_finished';
  data: ReviewFinished;
}

/** Later calls of the tool are decided on as before the grant. */
export interface GrantRevokedEvent extends JournalEvent {
  type: 'grant_revoked';
  data: GrantRevoked;
}

/** An attempt's intent, before a model is asked for a summary. */
export interface CompactionStartedEvent extends JournalEvent {
  type: 'compaction_started';
  data: CompactionStarted;
}

/** No summary; another attempt may follow. */
export interface CompactionFailedEvent extends JournalEvent {
  type: 'compaction_failed';
  data: CompactionFailed;
}

/** From here on the model gets the summary for the older part. */
export interface CompactionFinishedEvent extends JournalEvent {
  type: 'compaction_finished';
  data: CompactionFinished;
}

/** A piece of an answer, as it comes. */
export interface TextDeltaEvent extends LiveEvent {
  type: 'text_delta';
  data: Delta;
}

/** A piece of a model's reasoning, as it comes. */
export interface ReasoningDeltaEvent extends LiveEvent {
  type: 'reasoning_delta';
  data: Delta;
}

/** What events of the journal have. Their numbers begin at 1 and have no gaps in a session. */
export interface JournalEvent {
  number: number;
  time: Timestamp;
  run?: string | undefined;
}

/** What live events have. They are not stored, and have no number. */
export interface LiveEvent {
  number?: undefined;
  time: Timestamp;
  run?: string | undefined;
}

/**
 * A type of event that a later version adds: any other string. Programs pass it through. It is written as a word of its own, which
 * no event has, so that a comparison with a known type tells the types of data apart.
 */
export type UnknownEventType = '(of a later version)' & { readonly [later]: true };
declare const later: unique symbol;

/** An event of a later version's type. */
export interface UnknownEvent {
  type: UnknownEventType;
  number?: number | undefined;
  time: Timestamp;
  run?: string | undefined;
  data?: unknown;
}

/** The events that this version knows, by their type. */
export type KnownEvent =
  | SessionCreatedEvent
  | HistoryImportedEvent
  | SessionTakenOverEvent
  | SessionDeletedEvent
  | TurnAcceptedEvent
  | TurnStartedEvent
  | TurnCancelRequestedEvent
  | TurnEndedEvent
  | ModelCallStartedEvent
  | ModelCallFailedEvent
  | ModelCallFinishedEvent
  | ToolCallStartedEvent
  | ToolCallFinishedEvent
  | ToolCallLostEvent
  | ToolCallInspectedEvent
  | ToolOutcomeLateEvent
  | InteractionRequiredEvent
  | InteractionResolvedEvent
  | ToolCallCheckedEvent
  | ToolCallReturnedEvent
  | ReviewStartedEvent
  | ReviewFinishedEvent
  | GrantRevokedEvent
  | CompactionStartedEvent
  | CompactionFailedEvent
  | CompactionFinishedEvent
  | TextDeltaEvent
  | ReasoningDeltaEvent;

/**
 * One public event (RU3). Journalled events have numbers from 1, gap-free in a session. Live events (the delta types) have no
 * number and carry the attempt they belong to; they are not stored.
 */
export type Event = KnownEvent | UnknownEvent;

/** A page of events. `more` is true when there are later ones; go on after the last number. */
export interface EventPage {
  events: Event[];
  more?: boolean | undefined;
}

/** EventQuery pages through a session's journal. */
export interface EventQuery {
  session: string;
  /** Events with greater numbers. */
  after?: number | undefined;
  limit?: number | undefined;
}

/** A kind of event. Clients pass unknown kinds through. */
export type EventType =
  | 'session_created'
  | 'history_imported'
  | 'session_taken_over'
  | 'session_deleted'
  | 'turn_accepted'
  | 'turn_started'
  | 'turn_cancel_requested'
  | 'turn_ended'
  | 'model_call_started'
  | 'model_call_failed'
  | 'model_call_finished'
  | 'tool_call_started'
  | 'tool_call_finished'
  | 'tool_call_lost'
  | 'tool_call_inspected'
  | 'tool_outcome_late'
  | 'interaction_required'
  | 'interaction_resolved'
  | 'tool_call_checked'
  | 'tool_call_returned'
  | 'review_started'
  | 'review_finished'
  | 'grant_revoked'
  | 'compaction_started'
  | 'compaction_failed'
  | 'compaction_finished'
  | 'text_delta'
  | 'reasoning_delta'
  | (string & {});

/** Why a run failed. */
export interface Failure {
  code: Code;
  message: string;
  /**
   * What failed passes by itself, as a model's server that is overloaded does. What the program's own code did, as with
   * hook_failed, is not so, though the same message may do better in another turn.
   */
  retryable: boolean;
}

/** FollowQuery subscribes to a session, or to one run of it. */
export interface FollowQuery {
  session: string;
  after?: number | undefined;
  /**
   * Only this run's events, ending after the run's terminal event or the one that leaves it waiting. Absent follows the session
   * until closed.
   */
  run?: string | undefined;
}

/** A permission for one tool in one session (AP4). */
export interface Grant {
  tool: string;
  given: Timestamp;
  by?: string | undefined;
}

/** The data of grant_revoked. */
export interface GrantRevoked {
  tool: string;
  by?: string | undefined;
}

/** What a guardrail said that did not simply allow (GR1). */
export interface GuardVerdict {
  name: string;
  point: 'user_input' | 'model_input' | 'tool_result' | 'model_output';
  /** "redact" or "block", or "fail" where the guardrail gave no verdict and the check failed closed. */
  action: 'redact' | 'block' | 'fail';
  reason?: string | undefined;
  /** The name of the file that it is about, absent for another text. */
  file?: string | undefined;
}

/**
 * One item of an imported conversation (IM1). Each type has fields of its own, and no others; an empty one is no item, and is
 * refused with invalid_history.
 */
export type HistoryImport = UserImport | AssistantImport | ToolCallImport | ToolResultImport;

/**
 * The data of history_imported: a message, or an answer with its calls and their results, that was given when the session was
 * created (IM1). Nothing of it was executed here.
 */
export interface HistoryImported {
  items: ImportedItem[];
}

/** One item of a session's complete conversation, in the order in which the model sees it. */
export interface HistoryItem {
  type: 'user' | 'assistant' | 'reasoning' | 'tool_call' | 'tool_result' | 'notice' | 'summary';
  /** Number of the event that holds it. */
  event: number;
  run?: string | undefined;
  time: Timestamp;
  text?: string | undefined;
  /** The blocks of a message with content, in their order, files by reference; `text` has its texts. */
  content?: ContentBlock[] | undefined;
  /** Of an imported call, the one that it was given with. */
  callId?: string | undefined;
  name?: string | undefined;
  /** JSON text as the model gave it; of a result, what a person changed it to. */
  arguments?: string | undefined;
  output?: string | undefined;
  /** Of a result that is not the tool's own. */
  code?: Code | undefined;
}

/** A page of history. */
export interface HistoryPage {
  items: HistoryItem[];
  next?: string | undefined;
}

/** HistoryQuery pages through a session's conversation. */
export interface HistoryQuery {
  session: string;
  cursor?: string | undefined;
  limit?: number | undefined;
}

/** PNG, JPEG, GIF or WebP that does not move. */
export interface ImageBlock {
  type: 'image';
  /** What the file is called in this message: a label of 1 to 255 bytes without control characters. */
  name: string;
  source: Source;
}

/** One imported item; see HistoryImport. */
export interface ImportedItem {
  type: 'user' | 'assistant' | 'tool_call' | 'tool_result';
  text?: string | undefined;
  /** As it was given. */
  call_id?: string | undefined;
  name?: string | undefined;
  /** JSON text. */
  arguments?: string | undefined;
  output?: string | undefined;
}

/** The first request of a connection, and is made once. Any other before it is invalid_request. */
export interface Initialize {
  /** Those that the client speaks. Without one in common: incompatible_version. */
  protocolVersions: number[];
  client: ClientInfo;
  /** `credentials` say where secrets for providers come from. Absent: memory, without any. */
  credentials?: Credentials | undefined;
  /** Speakers to models beside those that the runtime is configured with, or instead of one of the same name. */
  providers?: Provider[] | undefined;
  /** The client has a hard check of its own, and action/check is called before each action. */
  actionCheck?: boolean | undefined;
  /** `scratchDir` holds the sessions' private workspaces. Absent: the user's cache directory. */
  scratchDir?: string | undefined;
  /**
   * The client's numbers are doubles, as those of JavaScript. A call whose arguments have an integer that no double holds, or a
   * number out of their range, is then refused with arguments_invalid before the client is asked to run or to check it.
   */
  doubleNumbers?: boolean | undefined;
}

/** Initialized answers initialize. */
export interface Initialized {
  protocolVersion: number;
  runtime: ClientInfo;
  capabilities: Capabilities;
  /** `maxFrameBytes` bounds a line, and `maxMessageBytes` a message of several. */
  maxFrameBytes: number;
  maxMessageBytes: number;
}

/** What became of an attempt: succeeded or failed, with `output`; not_started, running, unknown. */
export type Inspection =
  | {
      outcome: 'succeeded' | 'failed';
      output?: string | undefined;
    }
  | {
      outcome: 'not_started' | 'running' | 'unknown';
    };

/** A durable question to a person. */
export type Interaction = ApprovalInteraction | QuestionInteraction | UnknownOutcomeInteraction;

/** The tool call that an interaction is about. */
export interface InteractionCall {
  call_id: string;
  name: string;
  /** JSON text. */
  arguments?: string | undefined;
  attempt?: number | undefined;
}

/** InteractionKind says what a person is asked. */
export type InteractionKind = 'approval' | 'question' | 'unknown_outcome';

/** A page of open interactions; each carries its session in its ID's beginning. */
export interface InteractionPage {
  interactions: SessionInteraction[];
  next?: string | undefined;
}

/** InteractionQuery pages through open interactions. */
export interface InteractionQuery {
  owner?: string | undefined;
  cursor?: string | undefined;
  limit?: number | undefined;
}

/** The data of interaction_required. */
export type InteractionRequired =
  | {
      id: string;
      kind: 'approval';
      call?: InteractionCall | undefined;
      origin?: string | undefined;
      review?: Review | undefined;
    }
  | {
      id: string;
      kind: 'question';
      call?: InteractionCall | undefined;
      question: Question;
      origin?: string | undefined;
      review?: Review | undefined;
    }
  | {
      id: string;
      kind: 'unknown_outcome';
      call?: InteractionCall | undefined;
      origin?: string | undefined;
      review?: Review | undefined;
    };

/**
 * The data of interaction_resolved. `decision` is an answer's, or "cancelled".
 *
 * `by` is "reviewer" where the reviewer decided, "grant" where a grant was given while it was asked, and "agent" where the agent
 * skips questions.
 */
export interface InteractionResolved {
  id: string;
  decision: Decision;
  by?: string | undefined;
  reason?: string | undefined;
  /** What a person changed the call's to. */
  arguments?: JsonValue | undefined;
  answers?: string[] | undefined;
  review?: Review | undefined;
}

/** Limits bound a turn (LI1). An absent field takes the agent's value, then the default. Zero and negative values are refused. */
export interface Limits {
  /** `maxModelCalls` counts every call of the turn, the closing one included. Default 32. */
  maxModelCalls?: number | undefined;
  /** The output budget of the whole turn, the summary reserve included. Default: none. */
  maxOutputTokens?: number | undefined;
  /** `maxOutputTokensPerCall` bounds one working call. Default 8,192, lowered to the model's own maximum. */
  maxOutputTokensPerCall?: number | undefined;
  /** `summaryTokens` bounds the closing call. Default 512. */
  summaryTokens?: number | undefined;
}

/** A request on its way to a model (GR4). */
export interface ModelCall {
  callback: string;
  session: SessionReference;
  run?: string | undefined;
  callId?: string | undefined;
  agent: AgentReference;
  workspace?: string | undefined;
  origin?: string | undefined;
  owner?: string | undefined;
  metadata?: Record<string, string> | undefined;
  hook: string;
  purpose: 'turn' | 'review' | 'compaction';
  provider: string;
  request: ModelRequest;
}

/** The data of model_call_failed. */
export interface ModelCallFailed {
  call: number;
  attempt: number;
  code: Code;
  message: string;
  /** When the next attempt may start; absent when there is none. */
  retry_at?: Timestamp | undefined;
  usage?: Usage | undefined;
  guardrails?: GuardVerdict[] | undefined;
}

/** The data of model_call_finished. */
export interface ModelCallFinished {
  call: number;
  attempt: number;
  text?: string | undefined;
  calls?: RequestCall[] | undefined;
  stop: 'end' | 'tool_calls' | 'output_limit' | 'filtered';
  usage: Usage;
  /** `guardrails` says what guardrails did to the request or to this answer. */
  guardrails?: GuardVerdict[] | undefined;
}

/** The data of model_call_started. */
export interface ModelCallStarted {
  /** 1 for the turn's first. */
  call: number;
  /** 1 for the call's first. */
  attempt: number;
  epoch: number;
  model: ModelRef;
  max_output_tokens?: number | undefined;
  closing?: boolean | undefined;
}

/** One item of the conversation. */
export interface ModelItem {
  type: 'user' | 'assistant' | 'reasoning' | 'tool_call' | 'tool_result';
  text?: string | undefined;
  parts?: ModelPart[] | undefined;
  callId?: string | undefined;
  name?: string | undefined;
  arguments?: JsonValue | undefined;
  output?: string | undefined;
  failed?: boolean | undefined;
}

/** A piece of a user's item: a text, or a file where `mediaType` is set. */
export interface ModelPart {
  /** Of a text file its content. */
  text?: string | undefined;
  name?: string | undefined;
  mediaType?: string | undefined;
  id?: string | undefined;
  size?: number | undefined;
  /** Of an image or a PDF, base64 in JSON. */
  data?: Base64 | undefined;
}

/** ModelRef names a model of a provider. `provider` names are matched without case and stored in one spelling. */
export interface ModelRef {
  provider: string;
  name: string;
}

/** The whole of it, without its credential. */
export interface ModelRequest {
  model: string;
  instructions?: string | undefined;
  items: ModelItem[];
  tools?: ModelTool[] | undefined;
  noTools?: boolean | undefined;
  maxOutputTokens?: number | undefined;
}

/** What a model is told of a tool. */
export interface ModelTool {
  name: string;
  description?: string | undefined;
  inputSchema: JsonObject;
}

/** Next asks for the next events of a subscription, one request at a time. It waits until there is one. */
export interface Next {
  subscription: string;
  /** `max` bounds the events of the answer; 0 is 256, which is the most. */
  max?: number | undefined;
}

/**
 * A line that holds a piece of a message that does not fit one: the parameters of rpc/part. The pieces, in the order of the lines,
 * are the message's JSON. They are cut between characters.
 */
export interface Part {
  /** Any name of at most 64 bytes that the message has alone while it is under way. */
  message: string;
  data: string;
  last?: boolean | undefined;
}

/** A speaker to models. */
export interface Provider {
  name: string;
  protocol: 'openai-chat' | 'openai-responses' | 'anthropic' | 'google';
  baseURL: string;
  headers?: Record<string, string> | undefined;
  /** The server may need no credential, so that turns do not wait for one. */
  keyOptional?: boolean | undefined;
}

/** What the model asks a person (AP9). A person may answer with text of their own also where there are choices. */
export interface Question {
  text: string;
  choices?: Choice[] | undefined;
  /** Several answers may be given. */
  multiple?: boolean | undefined;
}

export interface QuestionInteraction {
  id: string;
  kind: 'question';
  run: string;
  /** The action in question; its parts may be withheld. */
  call?: InteractionCall | undefined;
  /** What the model asks, with "question". */
  question: Question;
  /** What a reviewer found before a person was asked (AP5). */
  review?: Review | undefined;
  /** `origin` says where the action comes from: the session's own agent, or a child. */
  origin?: string | undefined;
  asked: Timestamp;
}

/** RegisterAgent stores a definition, or finds that it is stored already. */
export interface RegisterAgent {
  owner?: string | undefined;
  definition: AgentDefinition;
}

/** RegisterGuardrail makes a guardrail of the client's available. Its name must be new. */
export interface RegisterGuardrail {
  name: string;
  points: ('user_input' | 'model_input' | 'tool_result' | 'model_output')[];
  timeoutMs?: number | undefined;
}

/** RegisterHook makes a hook of the client's available, with at least one of the two functions. Its name must be new. */
export interface RegisterHook {
  name: string;
  beforeModel?: boolean | undefined;
  toolResult?: boolean | undefined;
  timeoutMs?: number | undefined;
}

/** RegisterTools makes tools available whose bodies run in the client. Later ones replace earlier ones that declare the same. */
export interface RegisterTools {
  tools: Tool[];
}

/** One tool call that the model asked for. */
export interface RequestCall {
  call_id: string;
  name: string;
  arguments: string;
  /**
   * Why the call is not run, for example arguments_invalid, absent when it may be. That is its result: no tool_call_finished
   * follows.
   */
  code?: Code | undefined;
  /**
   * "policy", "grant", "never", "builtin" or "permission" where nobody is asked, absent where a person or the reviewer is, or
   * where the application's own check comes first (tool_call_checked says it then).
   */
  approved_by?: string | undefined;
}

/** Resolve answers an interaction. */
export interface Resolve {
  session: string;
  interaction: string;
  answer: Answer;
}

/** A run's result, or where it stands while it waits (RU2). */
export interface Result {
  run: string;
  status: RunStatus;
  /** The last answer's text, `content` the same in the form that messages have. */
  text: string;
  content?: ContentBlock[] | undefined;
  /** The open ones, with "interrupted". */
  interactions?: Interaction[] | undefined;
  /** `waitingFor` says what else keeps an interrupted run, for example credentials_missing. */
  waitingFor?: WaitReason[] | undefined;
  /** `error` tells why, with "failed". */
  error?: Failure | undefined;
  /**
   * All that the turn used; `auxiliaryUsage` is the part of it that reviewer and compaction calls used, which the turn's limits do
   * not count (LI6).
   */
  usage: Usage;
  auxiliaryUsage?: Usage | undefined;
  /** `modelCalls` counts the turn's calls, lost and closing ones included. */
  modelCalls: number;
  /** `auto_approved` counts the calls that application policy approved. */
  auto_approved: number;
}

/** ResumeSession checks a reference. */
export interface ResumeSession {
  reference: SessionReference;
  /** The name that the caller expects. */
  agent: string;
}

/**
 * A reviewer's verdict on an action (AP5). Where there is none, since the reviewer could not be asked or did not answer as it
 * must, `verdict` is unsure and `code` says why: that is no refusal (AP6).
 */
export interface Review {
  verdict: ReviewVerdict;
  /** The reviewer's, at most 500 bytes of plain text. A model never sees it. */
  reason?: string | undefined;
  code?: Code | undefined;
}

/**
 * The data of review_finished. Unless it is followed by another attempt, or its turn was cancelled meanwhile, its interaction
 * follows at once, also where nobody is asked.
 */
export interface ReviewFinished {
  call_id: string;
  attempt: number;
  review: Review;
  /** The attempt was lost with its process, and another follows. */
  again?: boolean | undefined;
  usage: Usage;
}

/** The data of review_started: the reviewer model is asked about a call (AP5). */
export interface ReviewStarted {
  call_id: string;
  attempt: number;
  epoch: number;
  model: ModelRef;
}

/**
 * What a reviewer model says about an action.
 *
 * - `unsure`: a person is asked
 */
export type ReviewVerdict = 'allow' | 'deny' | 'unsure';

/** RevokeGrant takes a session grant back. */
export interface RevokeGrant {
  session: string;
  tool: string;
  by?: string | undefined;
}

/** RunID names a run. To run/cancel an absent run is the current one. */
export interface RunID {
  session: string;
  run?: string | undefined;
}

/** RunReference names a run. Its ID begins with its session's. */
export interface RunReference {
  session: string;
  run: string;
  /** The number of the run's turn_accepted event: Events after it are the run's own. */
  accepted: number;
  /** True when the submission ID had been accepted before. */
  repeated?: boolean | undefined;
}

/** How a run stands (RU2). Interrupted is not an end. */
export type RunStatus = 'completed' | 'interrupted' | 'limit_reached' | 'cancelled' | 'failed';

/** The data of session_created. */
export interface SessionCreated {
  agent: string;
  digest: string;
  workspace?: string | undefined;
  owner?: string | undefined;
  metadata?: Record<string, string> | undefined;
}

/** SessionID names a session. */
export interface SessionID {
  session: string;
}

/** One row of a list of sessions. */
export interface SessionInfo {
  reference: SessionReference;
  activity: Activity;
  owner?: string | undefined;
  metadata?: Record<string, string> | undefined;
  created: Timestamp;
  updated: Timestamp;
  lastEvent: number;
  /** Why the session is set aside. */
  parked?: string | undefined;
}

/** An open interaction and the session that it belongs to. */
export type SessionInteraction =
  | {
      session: string;
      id: string;
      kind: 'approval';
      run: string;
      /** The action in question; its parts may be withheld. */
      call?: InteractionCall | undefined;
      /** What a reviewer found before a person was asked (AP5). */
      review?: Review | undefined;
      /** `origin` says where the action comes from: the session's own agent, or a child. */
      origin?: string | undefined;
      asked: Timestamp;
    }
  | {
      session: string;
      id: string;
      kind: 'question';
      run: string;
      /** The action in question; its parts may be withheld. */
      call?: InteractionCall | undefined;
      /** What the model asks, with "question". */
      question: Question;
      /** What a reviewer found before a person was asked (AP5). */
      review?: Review | undefined;
      /** `origin` says where the action comes from: the session's own agent, or a child. */
      origin?: string | undefined;
      asked: Timestamp;
    }
  | {
      session: string;
      id: string;
      kind: 'unknown_outcome';
      run: string;
      /** The action in question; its parts may be withheld. */
      call?: InteractionCall | undefined;
      /** What a reviewer found before a person was asked (AP5). */
      review?: Review | undefined;
      /** `origin` says where the action comes from: the session's own agent, or a child. */
      origin?: string | undefined;
      asked: Timestamp;
    };

/** The options of a new session (SE1). An empty one is a session with a private scratch directory and the agent's own settings. */
export interface SessionOptions {
  /** The working directory that tools are told. Empty: a private scratch directory. */
  workspace?: string | undefined;
  /** Absent decides by `workspace`; true together with `workspace`, and false without one, are refused (SE5). */
  scratch?: boolean | undefined;
  model?: ModelRef | undefined;
  autoApproverContext?: string | undefined;
  compaction?: CompactionOptions | undefined;
  autoSkipQuestions?: boolean | undefined;
  /**
   * A conversation that the session begins with (IM1). It is data: nothing of it is executed, no permission comes with it, and it
   * is stored with the session or not at all. Without items the session begins empty.
   */
  initialHistory?: HistoryImport[] | undefined;
  metadata?: Record<string, string> | undefined;
  owner?: string | undefined;
  /** `idempotencyKey` makes the creation itself repeatable: the same key and options give the same session. */
  idempotencyKey?: string | undefined;
}

/** A page of sessions. */
export interface SessionPage {
  sessions: SessionInfo[];
  next?: string | undefined;
}

/** SessionQuery pages through sessions, newest activity first. */
export interface SessionQuery {
  owner?: string | undefined;
  agent?: string | undefined;
  activity?: Activity | undefined;
  /** Last updated before; for retention. */
  before?: Timestamp | undefined;
  cursor?: string | undefined;
  limit?: number | undefined;
}

/** A small value without secrets that a program keeps to find its session again (SE2). It survives JSON; it is no permission. */
export interface SessionReference {
  store: string;
  session: string;
  agent: string;
}

/** A session as its journal and lease say at one moment, the same in every process (SE3). */
export interface SessionState {
  session: string;
  agent: string;
  activity: Activity;
  /** The current turn's run, absent when idle. */
  run?: string | undefined;
  /** `holder` and `leaseUntil` name the process that works on the session, while `activity` is running or recovering. */
  holder?: string | undefined;
  leaseUntil?: Timestamp | undefined;
  /** `waitingFor` names what keeps a waiting session: an open interaction, or what this process lacks. */
  waitingFor?: WaitReason[] | undefined;
  /** The open ones, oldest first. */
  interactions?: Interaction[] | undefined;
  /** Side effects that had started when their process ended and whose outcome is not settled. */
  unknownActions?: UnknownAction[] | undefined;
  timers?: Timer[] | undefined;
  /** `queue` holds the runs that wait for the current one, in order. */
  queue?: string[] | undefined;
  grants?: Grant[] | undefined;
  workspace?: string | undefined;
  model: ModelRef;
  usage: Usage;
  metadata?: Record<string, string> | undefined;
  owner?: string | undefined;
  created: Timestamp;
  /** The number of the newest event; Events with After set to it gives what comes later. */
  lastEvent: number;
}

/**
 * The data of session_taken_over: another process goes on, or is to: then `process` is absent, and the one that held the session
 * lacks what the turn needs.
 */
export interface SessionTakenOver {
  epoch: number;
  from?: string | undefined;
  process?: string | undefined;
}

/** SetCredential sets a provider's secret, "" to remove it. */
export interface SetCredential {
  provider: string;
  secret: string;
}

/**
 * Where a file's bytes are. There are no others: addresses and providers' own file IDs are refused, and so is an empty one, with
 * invalid_request.
 */
export type Source = Base64Source | TextSource | AttachmentSource;

/**
 * SourceType says where a file's bytes are.
 *
 * - `base64`: in `data`, in standard base64
 * - `text`: in `data` as they are; of documents
 * - `attachment`: stored: `id` names them
 */
export type SourceType = 'base64' | 'text' | 'attachment';

/** One message to a session: `text`, or `content`. */
export interface Submission {
  session: string;
  /** A message without files: 1 to 256,000 bytes of UTF-8 without NUL. */
  text?: string | undefined;
  /** A message of blocks, whose order is kept (AT1): 1 to 32 of them. An empty list is no message; nil is one of `text`. */
  content?: ContentBlock[] | undefined;
  options?: TurnOptions | undefined;
}

/** Subscription names what event/subscribe began. At most 1,024 are open at once in a connection. */
export interface Subscription {
  subscription: string;
}

export interface TextBlock {
  type: 'text';
  /** Of a text block. */
  text: string;
}

/** In `data` as they are; of documents. */
export interface TextSource {
  type: 'text';
  /**
   * What the file is said to be; with "attachment" it may be absent. What it is in truth is found in its bytes, and one that
   * differs is refused (AT4).
   */
  mediaType?: string | undefined;
  data: string;
}

/** Something that will happen by itself at a time: a retry, an inspection. */
export interface Timer {
  kind: string;
  run?: string | undefined;
  at: Timestamp;
}

/** A tool of the client's. */
export interface Tool {
  /** The catalogue name, for example "app.lookup"; the model sees it as "app__lookup" (AG5). */
  name: string;
  description?: string | undefined;
  /** A JSON Schema (2020-12) of an object. */
  inputSchema: JsonObject;
  effect?: Effect | undefined;
  /** `timeoutMs` bounds one attempt; 0 is the runtime's default. */
  timeoutMs?: number | undefined;
  /** tool/inspect may be called (RE3). */
  inspect?: boolean | undefined;
  /**
   * `handle` comes back with each call of this tool. By it a client tells apart two that have one name and declare different
   * things, for agents that were registered with the one and the other (AG4).
   */
  handle?: string | undefined;
}

/** A call of a tool, to be run or to be inspected. */
export interface ToolCall {
  callback: string;
  session: SessionReference;
  run?: string | undefined;
  callId?: string | undefined;
  agent: AgentReference;
  workspace?: string | undefined;
  origin?: string | undefined;
  owner?: string | undefined;
  metadata?: Record<string, string> | undefined;
  /** `callId` is in the context, and the same in every attempt: the idempotency key. */
  attempt: number;
  epoch: number;
  /** Catalogue name. */
  tool: string;
  handle?: string | undefined;
  effect: Effect;
  arguments: JsonObject;
  /**
   * Until when the body may begin, absent for no bound and to inspect. A client that gets to it later answers too_late, and has
   * not begun; the runtime looks whether the session is still its own, and asks again.
   */
  startBefore?: Timestamp | undefined;
}

/** The data of tool_call_checked: the application's own check let the call pass (AP2). `approved_by` is as in RequestCall. */
export interface ToolCallChecked {
  call_id: string;
  approved_by?: string | undefined;
}

/** The data of tool_call_finished. */
export interface ToolCallFinished {
  call_id: string;
  name?: string | undefined;
  attempt?: number | undefined;
  output: string;
  /** Why there is no output of the tool's own, absent after a success. */
  code?: Code | undefined;
  guardrails?: GuardVerdict[] | undefined;
}

export interface ToolCallImport {
  type: 'tool_call';
  /** Any text that is the call's alone. */
  callId: string;
  /** A tool's name in the form in which models see one: 1–64 of A–Z a–z 0–9 _ -. The agent need not have it. */
  name: string;
  /** A JSON object. */
  arguments: JsonObject;
}

/** The data of tool_call_inspected. */
export interface ToolCallInspected {
  call_id: string;
  attempt: number;
  answer: 'succeeded' | 'failed' | 'not_started' | 'running' | 'unknown';
  again?: Timestamp | undefined;
}

/**
 * The data of tool_call_lost. `again` is true when the action is repeatable and runs again under the same call ID; otherwise its
 * outcome is unknown until it is settled (RE3).
 */
export interface ToolCallLost {
  call_id: string;
  attempt: number;
  again?: boolean | undefined;
}

/**
 * The data of tool_call_returned: the body has returned, and hooks or guardrails look at its output, which is not stored yet. When
 * the process ends before they are done, that output is lost.
 */
export interface ToolCallReturned {
  call_id: string;
  attempt: number;
  failed?: boolean | undefined;
}

/** The data of tool_call_started: the intent, durable before a side effect's body runs. */
export interface ToolCallStarted {
  call_id: string;
  name: string;
  attempt: number;
  epoch: number;
}

/** The part of a tool that belongs to the agent's identity: what the model sees, and the declared effect (AG4). */
export interface ToolDeclaration {
  /** The catalogue name, for example "app.lookup"; the model sees it as "app__lookup" (AG5). */
  name: string;
  description?: string | undefined;
  /** A JSON Schema (2020-12) of an object. */
  inputSchema: JsonObject;
  effect?: Effect | undefined;
}

/** What a tool returned, or what stands for it. */
export interface ToolOutput {
  output: string;
}

/** A tool's result on its way to model and journal. */
export interface ToolResult {
  callback: string;
  session: SessionReference;
  run?: string | undefined;
  callId?: string | undefined;
  agent: AgentReference;
  workspace?: string | undefined;
  origin?: string | undefined;
  owner?: string | undefined;
  metadata?: Record<string, string> | undefined;
  hook: string;
  tool: string;
  arguments: JsonValue;
  output: string;
  /** Absent for a success. */
  code?: Code | undefined;
}

export interface ToolResultImport {
  type: 'tool_result';
  /** Any text that is the call's alone. */
  callId: string;
  output: string;
}

/** The data of turn_accepted. */
export interface TurnAccepted {
  /** The message; of one with content its text blocks, joined by empty lines. */
  text: string;
  /** The blocks of a message with content, files by reference (AT6). */
  content?: AcceptedBlock[] | undefined;
  /** Absent for a message and "compaction" for a run that only summarises (CO1). */
  kind?: string | undefined;
  queued?: boolean | undefined;
  submission_id?: string | undefined;
  model: ModelRef;
  /** `guardrails` says what guardrails did to the text before it was stored. */
  guardrails?: GuardVerdict[] | undefined;
}

/** The data of turn_ended. */
export interface TurnEnded {
  status: RunStatus;
  /** The number of the model_call_finished event with the run's last text, 0 if there is none. */
  answer?: number | undefined;
  error?: Failure | undefined;
  usage: Usage;
  /** The part of `usage` that reviewer and compaction calls used. */
  auxiliary_usage?: Usage | undefined;
  model_calls: number;
  auto_approved?: number | undefined;
}

/** TurnOptions hold for one turn. An empty one inherits everything. */
export interface TurnOptions {
  /**
   * `submissionId` makes a send repeatable (RU4): the same ID with the same message and options gives the same run, with anything
   * changed submission_conflict. At most 256 bytes. `idempotencyKey` is another name for it.
   */
  submissionId?: string | undefined;
  idempotencyKey?: string | undefined;
  /** `instructionAddendum` goes with every model call of this turn and ends with it (GU1). At most 32,000 bytes. */
  instructionAddendum?: string | undefined;
  model?: ModelRef | undefined;
  limits?: Limits | undefined;
  whenBusy?: WhenBusy | undefined;
  autoApproverContext?: string | undefined;
  compaction?: CompactionOptions | undefined;
  /** Added to the agent's, by their registered names (GR1). */
  guardrails?: string[] | undefined;
}

/** What a turn came to. */
export interface TurnResult {
  run: RunReference;
  result: Result;
}

/** A text that a guardrail looks at. */
export interface Unit {
  callback: string;
  session: SessionReference;
  run?: string | undefined;
  callId?: string | undefined;
  agent: AgentReference;
  workspace?: string | undefined;
  origin?: string | undefined;
  owner?: string | undefined;
  metadata?: Record<string, string> | undefined;
  guardrail: string;
  point: 'user_input' | 'model_input' | 'tool_result' | 'model_output';
  text: string;
  /** Of a tool's result. */
  tool?: string | undefined;
  /** The text file's name. */
  file?: string | undefined;
}

/** A started action without a known outcome (RE3). */
export interface UnknownAction {
  callId: string;
  tool: string;
  attempt: number;
  /**
   * The open question about it: absent while it is being inspected, and for a call that was closed as unknown, by its turn's
   * cancellation or by "tell_model". Such a one is listed until its outcome arrives after all (tool_outcome_late) or 16 newer ones
   * have taken its place.
   */
  interaction?: string | undefined;
}

/**
 * UnknownOutcome says what happens to a side effect whose outcome nobody can tell (RE3). Left out, it means "ask".
 *
 * - `ask`: a durable interaction for a person; the default
 * - `tell_model`: a result that says so, and to inspect before any retry
 */
export type UnknownOutcome = 'ask' | 'tell_model';

export interface UnknownOutcomeInteraction {
  id: string;
  kind: 'unknown_outcome';
  run: string;
  /** The action in question; its parts may be withheld. */
  call?: InteractionCall | undefined;
  /** What a reviewer found before a person was asked (AP5). */
  review?: Review | undefined;
  /** `origin` says where the action comes from: the session's own agent, or a child. */
  origin?: string | undefined;
  asked: Timestamp;
}

/**
 * A file in a session, stored or on its way. The same bytes are one upload: `name` is what they were called first, and `mediaType`
 * what they were stored as, whatever later ones say.
 */
export interface Upload {
  id: string;
  name: string;
  /** What was announced; from the commit on what was found. */
  mediaType?: string | undefined;
  size: number;
  sha256: string;
  state: UploadState;
  /** The chunks that are not there yet, by their index from 0. */
  missing?: number[] | undefined;
  /**
   * When it ends unless a message refers to it by then: 24 hours after it was last begun. It is removed at the session's next
   * upload. Absent once a message refers to it.
   */
  expires?: Timestamp | undefined;
}

/** A part of a file: chunk i begins at byte i × 262,144 and has that many bytes, the last one the rest. */
export interface UploadChunk {
  index: number;
  /** Of `data`, 64 hex digits. */
  sha256: string;
  data: Base64;
}

/** UploadID names an upload. */
export interface UploadID {
  session: string;
  upload: string;
}

/** UploadRequest announces a file. The same file of a session, by its `sha256`, is stored once, whatever it is called. */
export interface UploadRequest {
  name: string;
  /** `mediaType` may be absent: then it is found out when the upload is committed. */
  mediaType?: string | undefined;
  /** In bytes, 1 to 8 MiB. */
  size: number;
  /** Of all bytes, 64 hex digits. */
  sha256: string;
}

/**
 * UploadState says how far an upload is.
 *
 * - `open`: chunks may be sent
 * - `committed`: stored: a message may refer to it until it expires
 * - `accepted`: a message refers to it: it lives as long as the session
 */
export type UploadState = 'open' | 'committed' | 'accepted';

/**
 * Usage counts tokens. `estimated` is true when a part of it is ours and not the provider's, for example after a call that was
 * lost in a crash.
 */
export interface Usage {
  inputTokens: number;
  cachedInputTokens?: number | undefined;
  outputTokens: number;
  reasoningTokens?: number | undefined;
  estimated?: boolean | undefined;
}

/** UsageQuery selects usage rows; days are UTC. */
export interface UsageQuery {
  owner?: string | undefined;
  since?: Timestamp | undefined;
}

/** One agent's usage on one day. */
export interface UsageRow {
  agent: string;
  /** 2006-01-02. */
  day: string;
  turns: number;
  inputTokens: number;
  cachedInputTokens?: number | undefined;
  outputTokens: number;
  reasoningTokens?: number | undefined;
  estimated?: boolean | undefined;
}

/** The rows of usage. */
export interface UsageRows {
  rows: UsageRow[];
}

export interface UserImport {
  type: 'user';
  text: string;
}

/** A guardrail's: allow, redact with `text`, block. */
export type Verdict =
  | {
      action: 'allow';
    }
  | {
      action: 'redact';
      text: string;
      reason?: string | undefined;
    }
  | {
      action: 'block';
      reason?: string | undefined;
    };

/** A hook's answer: with Veto the request is refused. */
export interface Veto {
  veto?: boolean | undefined;
  reason?: string | undefined;
}

/**
 * WaitReason says what a waiting session waits for: an interaction's ID or a time with code "", or a code such as
 * credentials_missing with the name of what is missing.
 */
export interface WaitReason {
  code?: Code | undefined;
  name?: string | undefined;
  /** `message` says what is missing and what to do, with a code. */
  message?: string | undefined;
  interaction?: string | undefined;
  until?: Timestamp | undefined;
}

/**
 * WhenBusy says what happens to a message that meets a running turn (SE4). Left out, it means "reject".
 *
 * - `reject`: session_busy names the run; the default
 * - `queue`: runs after the current turn and those queued before it
 * - `interrupt`: cancels the current turn and runs next, ahead of the queue
 */
export type WhenBusy = 'reject' | 'queue' | 'interrupt';

/** What a client may ask the runtime. */
export interface Methods {
  /** The first request of a connection, and is made once. Any other before it is invalid_request. */
  initialize: { params: Initialize; result: Initialized };
  /** Stops work as the end of standard input does, and answers when it is done. */
  shutdown: { params: Empty; result: Empty };
  /** Capabilities tell a client what this host can do before it sends anything (FA9). */
  capabilities: { params: Empty; result: Capabilities };
  /** Sets a provider's secret, "" to remove it. */
  'credential/set': { params: SetCredential; result: Empty };
  /** Makes tools available whose bodies run in the client. Later ones replace earlier ones that declare the same. */
  'tool/register': { params: RegisterTools; result: Empty };
  /** Makes a guardrail of the client's available. Its name must be new. */
  'guardrail/register': { params: RegisterGuardrail; result: Empty };
  /** Makes a hook of the client's available, with at least one of the two functions. Its name must be new. */
  'hook/register': { params: RegisterHook; result: Empty };
  /** Stores a definition, or finds that it is stored already (AG3). */
  'agent/register': { params: RegisterAgent; result: AgentReference };
  /** Pages through registered agents. */
  'agent/list': { params: AgentQuery; result: AgentPage };
  /** Returns once the session is durable (SE1). */
  'session/create': { params: CreateSession; result: SessionReference };
  /** Checks a reference; it creates nothing (SE2). agent is the name the caller expects. */
  'session/resume': { params: ResumeSession; result: Empty };
  /** Pages through sessions, newest activity first. */
  'session/list': { params: SessionQuery; result: SessionPage };
  /** A session as its journal and lease say at one moment, the same in every process (SE3). */
  'session/state': { params: SessionID; result: SessionState };
  /** Returns once the deletion is durable (SE6); deleting again changes nothing. */
  'session/delete': { params: DeleteSession; result: Empty };
  /**
   * Accepts a run that summarises older history and ends (CO1). Of the options submissionId, model, whenBusy, compaction and
   * guardrails may be given.
   */
  'session/compact': { params: Compact; result: RunReference };
  /** Returns once the message is durable (RU1). */
  'turn/submit': { params: Submission; result: RunReference };
  /** One message to a session: `text`, or `content`. */
  'turn/run': { params: Submission; result: TurnResult };
  /** Finds a run by its ID. */
  'run/get': { params: RunID; result: RunReference };
  /**
   * Asks a run to end; "" names the current one. It returns once the request is durable (RU5). Cancelling a run that has ended is
   * a no-op.
   */
  'run/cancel': { params: RunID; result: Empty };
  /** Waits until the run ends or waits for something, or until its caller stops waiting (RU3). */
  'run/result': { params: RunID; result: Result };
  /** Answers an interaction; it returns once the answer is durable (AP3). */
  'interaction/resolve': { params: Resolve; result: Empty };
  /** Lists open interactions over all sessions of an owner (SE8). */
  'interaction/list': { params: InteractionQuery; result: InteractionPage };
  /**
   * Takes a session grant back (AP4); it returns once that is durable. Calls that it approved and that have not begun are asked
   * about. Without such a grant nothing changes.
   */
  'grant/revoke': { params: RevokeGrant; result: Empty };
  /**
   * Announces a file, or finds it where it was announced before: then Missing says what is left to send (AT5). The session's
   * uploads that have expired are removed first.
   */
  'upload/begin': { params: BeginUpload; result: Upload };
  /** Stores one chunk of a file; it returns once that is durable. The same again is a no-op. */
  'upload/chunk': { params: Chunk; result: Empty };
  /** Looks at the whole file and seals it; from then on messages may refer to it by its ID. Again is a no-op. */
  'upload/commit': { params: UploadID; result: Upload };
  /** A page of journalled events (SE7). */
  'event/list': { params: EventQuery; result: EventPage };
  /** Subscribes to a session, or to one run of it. */
  'event/subscribe': { params: FollowQuery; result: Subscription };
  /** Asks for the next events of a subscription, one request at a time. It waits until there is one. */
  'event/next': { params: Next; result: Batch };
  /** Names what event/subscribe began. At most 1,024 are open at once in a connection. */
  'event/unsubscribe': { params: Subscription; result: Empty };
  /** The complete conversation, paged (CO2). */
  'history/list': { params: HistoryQuery; result: HistoryPage };
  /** Groups token counts by agent and day (SE8). */
  'usage/list': { params: UsageQuery; result: UsageRows };
}

/** What a client tells the runtime, and gets no answer to. */
export interface Notifications {
  /**
   * Gives up a request of the client's, by its id. Its answer still comes, mostly the error cancelled. What an event/next that was
   * given up had fetched is lost to its subscription: end that one, and begin another behind the last event.
   */
  'rpc/cancel': { params: CancelRequest };
  /**
   * A line that holds a piece of a message that does not fit one: the parameters of rpc/part. The pieces, in the order of the
   * lines, are the message's JSON. They are cut between characters.
   */
  'rpc/part': { params: Part };
}

/** What the runtime asks the client. */
export interface Callbacks {
  /** A call of a tool, to be run or to be inspected. */
  'tool/run': { params: ToolCall; result: ToolOutput };
  /** A call of a tool, to be run or to be inspected. */
  'tool/inspect': { params: ToolCall; result: Inspection };
  /** A text that a guardrail looks at. */
  'guardrail/check': { params: Unit; result: Verdict };
  /** A request on its way to a model (GR4). */
  'hook/beforeModel': { params: ModelCall; result: Veto };
  /** A tool's result on its way to model and journal. */
  'hook/toolResult': { params: ToolResult; result: ToolOutput };
  /** A call that the application's hard check looks at (AP2). */
  'action/check': { params: Action; result: Verdict };
  /** Asks for a provider's secret. */
  'credential/get': { params: CredentialQuery; result: Credential };
}

/** What the runtime tells the client, and wants no answer to. */
export interface CallbackNotifications {
  /**
   * In the parameters of each request of the runtime, and names it while it is under way. Alone it is those of callback/cancel:
   * nobody waits for the answer any more, and what runs for it should end. A tool's answer is still wanted.
   */
  'callback/cancel': { params: Callback };
  /**
   * A line that holds a piece of a message that does not fit one: the parameters of rpc/part. The pieces, in the order of the
   * lines, are the message's JSON. They are cut between characters.
   */
  'rpc/part': { params: Part };
}

