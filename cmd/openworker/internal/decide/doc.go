// Package decide says what an interaction asks of a person, which answers it takes, and how it came out: the same in
// the cards of a chat, in plain lines, and in a list.
//
// [Of] gives the kind of an interaction with its [Choice] values. A choice that is picked, with what was typed for it,
// makes an answer ([Choice.Answer]); [Picked] is the choice of a question that a typed line names. The functions that say
// something return text that is fit for a terminal, except for titles, labels, details and questions ([AskedBy]): they are
// the model's own words, and whoever shows them makes them so.
//
// Imports: api, cmd/openworker/internal/plain.
package decide
