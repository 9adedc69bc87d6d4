// Package chatui is `openworker chat` on a terminal.
//
// [Run] takes the terminal, shows a [Conversation] and gives the terminal back. [chat] is the whole state, and its
// Update and View are functions of messages: what takes time, the conversation above all, happens in commands, so that
// tests play the conversation and read the screen.
//
// The screen has two parts. What is finished goes to the scrollback, once and in order ([transcript]); the rest is the
// live area at the bottom ([chat.compose]): the end of the answer that still grows, calls that run, open questions
// as cards, a status line, the input. An answer leaves the live area block by block ([splitter]), so that a long one
// costs no more to draw than a short one.
//
// What is known of the session comes from its events ([chat.event]), the same for a turn of ours, one of another
// process, and one that is over when somebody comes back. Deltas belong to an attempt; when that fails its text is
// void, which is said where it was printed.
//
// Nothing of a model's, a tool's or a user's text reaches the terminal that could steer it: text is [plain.Printable], and of
// what rendering makes of it only styles are kept.
//
// Imports: api, internal/attached, internal/decide and internal/plain of this command; bubbletea, bubbles, lipgloss, glamour, and charmbracelet's x/ansi and colorprofile.
package chatui
