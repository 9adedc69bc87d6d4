// Package policy carries out what applications and reviewers decide: guardrails, hooks, the application's own check
// of an action, the requests for a review and for a summary, and how their answers are read.
//
//   - [Screen] runs guardrails over one text; [ScreenMessage], [ScreenRequest] and [ScreenAnswer] over all texts of a
//     message, a request and an answer, which stay well-formed. [BeforeModel], [AfterTool] and [Ask] run hooks and the
//     application's check.
//   - A text file is a text that has a name. An image and a PDF are none: under a guardrail that would have to look into
//     them they are refused (AT7). [Inspects] says whether a conversation may have them.
//   - [ScreenReview] and [ScreenSummary] run them over what a review or a summary is made of, before it is quoted and cut
//     in a document; [Fit] says beforehand what none of them could look at.
//   - [ReviewRequest] and [ReadReview] are both ends of a review, [SummaryRequest] and [ParseSummary] of a summary.
//     What they show a model is one JSON document: content is a quoted string in its one place, whatever it says.
//
// Everything fails closed. An application's code that returns an error, panics, ends its goroutine, takes too long or
// answers what is no answer lets nothing pass, and is told apart from a refusal. Code that ignores its context is
// left behind, not waited for. Where the caller's own context ends, the error is cancelled and blames nobody.
//
// Nothing here stores, logs, retries or knows a session; the functions keep no state but in a caller's [Memo]. All
// are safe for concurrent use.
//
// Imports: api, guard, model.
package policy
