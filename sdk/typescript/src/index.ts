/**
 * The harness for AI agents whose runs survive: durable sessions, tools that are never run twice unasked, people who approve what
 * matters. Begin with {@link Harness.open}.
 */
export { Agent, type AgentDefinition, type SessionOptions } from './agent.js';
export { Attachment, type AttachmentBytes } from './attachment.js';
export type { ContentPart, Files, Input } from './content.js';
export * from './generated/errors.js';
export type {
  AcceptedBlock,
  Activity,
  AgentReference,
  Answer,
  ApprovalInteraction,
  ApprovalMode,
  Approvals,
  AssistantImport,
  AttachmentSource,
  Base64Source,
  BlockType,
  BuiltinTools,
  Capabilities,
  Choice,
  Code,
  CompactionOptions,
  ContentBlock,
  Decision,
  Delta,
  DocumentBlock,
  Effect,
  Event,
  EventType,
  Failure,
  Grant,
  GuardVerdict,
  HistoryImport,
  HistoryItem,
  HistoryPage,
  ImageBlock,
  Interaction,
  InteractionCall,
  InteractionKind,
  InteractionRequired,
  InteractionResolved,
  JsonObject,
  JsonValue,
  KnownEvent,
  Limits,
  ModelItem,
  ModelPart,
  ModelRef,
  ModelRequest,
  ModelTool,
  Provider,
  Question,
  QuestionInteraction,
  Result,
  Review,
  ReviewVerdict,
  RunReference,
  RunStatus,
  SessionInfo,
  SessionInteraction,
  SessionReference,
  SessionState,
  Source,
  SourceType,
  TextBlock,
  TextSource,
  Timer,
  ToolCallImport,
  ToolResultImport,
  UnknownAction,
  UnknownEvent,
  UnknownOutcome,
  UnknownOutcomeInteraction,
  Upload,
  UploadState,
  Usage,
  UsageRow,
  UserImport,
  WaitReason,
  WhenBusy,
} from './generated/protocol.js';
export {
  allow,
  block,
  type CheckAction,
  type Guardrail,
  type GuardrailUnit,
  type GuardPoint,
  type Hook,
  type HookedResult,
  type ModelCall,
  redact,
  type ToolAction,
  type Verdict,
  veto,
  type Veto,
} from './guards.js';
export type { HandlerContext, Handlers, InteractionHandler } from './handlers.js';
export { Harness, type SessionQuery } from './harness.js';
export type { CallOptions } from './options.js';
export { Run, RunStream, type StreamedRun } from './run.js';
export type { InputOf, InputSchema, JSONSchema, StandardIssue, StandardResult, StandardSchema } from './schema.js';
export { type RunWithOptions, Session, type TurnOptions } from './session.js';
export type { CredentialCallback, Credentials, HarnessOptions } from './setup.js';
export type { EventStream } from './stream.js';
export type { Inspection, ToolContext, ToolDefinition } from './tools.js';
