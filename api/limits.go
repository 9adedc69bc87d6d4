package api

import "time"

// Bounds that every face enforces. All are inclusive.
const (
	MaxNameBytes         = 128     // an agent's name, a submission ID's part of a key (AG3)
	MaxModelToolName     = 64      // a tool's name as the model sees it (AG5)
	MaxSubmissionIDBytes = 256     // a submission ID or idempotency key
	MaxGuidanceBytes     = 32_000  // instruction addendum, reviewer context, compaction guidance (GU3)
	MaxMessageBytes      = 256_000 // a plain string message (AT3)
	MaxInstructionsBytes = 512_000 // an agent's instructions
	MaxMetadataBytes     = 16_000  // a session's metadata, keys and values together
	MaxAgentTools        = 128     // tools of one agent
	MaxToolOutputBytes   = 256_000 // one tool result; the rest is cut with a marker (RU8)
	MaxQueuedTurns       = 64      // messages waiting behind a running turn (SE4)
	MaxGuardedBytes      = 128_000 // one unit that a guardrail looks at; a larger one fails closed (GR2)
	MaxAnswersBytes      = 32_000  // the answers to a question together
	MaxAnswers           = 64      // answers to one question
	MaxReviewReasonBytes = 500     // what is kept of a reviewer's reason
	MaxGuardrails        = 32      // guardrails, and hooks, of one agent or turn
	MaxPage              = 1_000   // rows of one page (SE7)

	MaxFileBytes        = 8 << 20   // one attached file (AT3)
	MaxMessageFileBytes = 16 << 20  // the files of one message together
	MaxBlocks           = 32        // content blocks of one message
	MaxBlockTextBytes   = 32_000    // the text blocks of one message with content together
	MaxSessionFiles     = 128       // files that a session keeps, uploads that no message refers to yet included
	MaxSessionFileBytes = 64 << 20  // and their bytes
	MaxFileNameBytes    = 255       // the name of a file, which is a label
	UploadChunkBytes    = 256 << 10 // each chunk of an upload but the last, which may be shorter (AT5)
	MaxImportItems      = 256       // items of an imported conversation (IM3)
	MaxImportTextBytes  = 256_000   // each text, each call's arguments and each output in it
	MaxImportBytes      = 512_000   // the whole of it as compact JSON
	MaxImportDepth      = 32        // levels of a call's arguments, the object itself being the first
	DefaultPage         = 100
)

// Defaults of limits that a definition or a turn may set (LI1).
const (
	DefaultMaxModelCalls          = 32
	DefaultMaxOutputTokensPerCall = 8_192
	DefaultSummaryTokens          = 512
)

// Defaults of times that the host may set.
const (
	DefaultToolTimeout  = 10 * time.Minute // one attempt of a tool's body
	DefaultCancelGrace  = 5 * time.Second  // what a cancelled body gets before it counts as "outcome unknown"
	DefaultStreamIdle   = 60 * time.Second // silence after which a provider's stream counts as cut
	MaxTakeOvers        = 3                // take-overs without progress that end a run (RE7)
	MaxModelAttempts    = 6                // attempts of one model call, provider errors only (LI5)
	MaxInspections      = 20               // times that "running" is asked again before it counts as unknown
	DefaultCheckTimeout = 10 * time.Second // a guardrail, a hook, the application's own check
	DefaultReviewTime   = 30 * time.Second // a review with all its tries (AP5)
	MaxReviewTokens     = 1_024            // output of a reviewer's call (LI6)
	MaxCompactionTokens = 4_096            // output of a compaction's call (LI6)
	DefaultToolParallel = 8                // tool bodies of one session that run at once (RU7)
	UploadTime          = 24 * time.Hour   // what an upload that no message refers to is kept, from when it was last begun (AT5)
)

// Set returns a pointer to v, for the three-state fields of options: nil is absent (inherit), a
// pointer to the zero value clears, a pointer to another value sets.
func Set[T any](v T) *T { return &v }
