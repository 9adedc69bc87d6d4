package model

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// Provider speaks to one provider's models. All methods may be called concurrently.
type Provider interface {
	// Name is the provider's name in its one spelling, for example "OpenAI".
	Name() string
	// Facts tells what is known of a model; ok is false for an unknown model, of which no more is known than the
	// provider's own bounds for files.
	Facts(model string) (facts Facts, ok bool)
	// NeedsCredential reports whether Stream wants Request.Credential.
	NeedsCredential() bool
	// Stream makes one attempt of one call. It hands each piece of the answer to emit as it comes, from
	// this goroutine, and returns the whole answer, or an *Error. When ctx ends it returns soon, with an
	// *Error of code cancelled. A panic in a provider is the runtime's to catch.
	Stream(ctx context.Context, req Request, emit func(Delta)) (Response, error)
}

// CredentialTaker is a Provider that may do without a credential: Stream takes Request.Credential where there is one, also
// though NeedsCredential says no. One that is no CredentialTaker and needs none is given none.
type CredentialTaker interface {
	Provider
	TakesCredential() bool
}

// Facts are what is known of a model. Zero values mean unknown.
type Facts struct {
	Window          int // tokens of input and output together
	MaxOutputTokens int // of one answer
	// MaxImageBytes and MaxPDFBytes bound one file, as its own bytes; MaxImageSide the width and the height of an image, in
	// pixels; MaxFilesBytes the files of one request together (AT4).
	MaxImageBytes, MaxPDFBytes, MaxFilesBytes int64
	MaxImageSide                              int
	// More images than ManyImages in a request have at most MaxImageSideMany pixels a side, each of them.
	ManyImages, MaxImageSideMany int
	// Formats are the media types of files that it takes, Refused those that it does not, of images and PDFs. One
	// that is in neither is unknown; text needs no format (AT8).
	Formats, Refused []string
}

// Takes reports whether the model takes files of a media type; known is false where that is not known.
func (f Facts) Takes(mediaType string) (takes, known bool) {
	switch {
	case !strings.HasPrefix(mediaType, "image/") && mediaType != TypePDF, slices.Contains(f.Formats, mediaType):
		return true, true
	case slices.Contains(f.Refused, mediaType):
		return false, true
	}
	return false, false
}

// OnlyFormats are facts whose Formats are all that the model takes: each other image type, and PDF, is refused.
func (f Facts) OnlyFormats(formats ...string) Facts {
	f.Formats, f.Refused = formats, nil
	for _, other := range []string{TypePNG, TypeJPEG, TypeGIF, TypeWebP, TypePDF} {
		if !slices.Contains(formats, other) {
			f.Refused = append(f.Refused, other)
		}
	}
	return f
}

// Request is one call. The runtime guarantees that it is well-formed, as [Check] has it: it starts with a
// user item and ends with one or with results, each answer's calls are followed at once by their results in
// call order, call IDs are 1–64 of A-Za-z0-9_- and unique, arguments are valid JSON objects.
type Request struct {
	Model        string
	Instructions string // the system text, guidance for the turn included; "" for none
	Items        []Item
	// Encoded, unless nil, keeps the encoding of Items from call to call.
	Encoded *Encoded
	Tools   []Tool
	// NoTools declares the tools but forbids their use: tool choice none.
	NoTools bool
	// MaxOutputTokens bounds the answer; 0 leaves it to the provider.
	MaxOutputTokens int
	// Credential is a secret for this call. It is never stored or logged.
	Credential string
	// Session is a stable key for the provider's prompt cache.
	Session string
}

// Tool is what the model is told of a tool.
type Tool struct {
	Name        string // as the model sees it
	Description string
	InputSchema json.RawMessage
}

// ItemKind is the kind of a conversation item.
type ItemKind string

const (
	UserItem       ItemKind = "user"        // Text or Parts
	AssistantItem  ItemKind = "assistant"   // Text
	ReasoningItem  ItemKind = "reasoning"   // Text and Private
	ToolCallItem   ItemKind = "tool_call"   // CallID, Name, Arguments
	ToolResultItem ItemKind = "tool_result" // CallID, Output, Failed
)

// Item is one item of the conversation. Call IDs are ours (RU9).
type Item struct {
	Kind ItemKind
	Text string
	// Parts are the content of a user's item with files, in the user's order (AT2).
	Parts     []Part
	CallID    string
	Name      string          // the model's name of the tool
	Arguments json.RawMessage // a JSON object
	Output    string
	Failed    bool // the result is not a success
	// Private is the provider's own form of the item, sent back unchanged to the same provider and model.
	Private *Private
}

// Part is a piece of a user's item: Text, or a file where MediaType is set.
type Part struct {
	Text string
	// Name, MediaType and Data are a file's: an image of one of the types below, a PDF, or text in UTF-8, whose
	// media type is any other one. A provider sends an image and a PDF as they are, and text as [Part.NamedText].
	Name      string
	MediaType string
	Data      []byte
	// ID and Size are the host's: by which it keeps a file, and the file's bytes. Data is there in each request that a
	// provider is given; what is only described has it not.
	ID   string
	Size int64
}

// The media types of files that are not text. No provider takes another image.
const (
	TypePNG  = "image/png"
	TypeJPEG = "image/jpeg"
	TypeGIF  = "image/gif"
	TypeWebP = "image/webp"
	TypePDF  = "application/pdf"
)

// IsImage reports whether the part is an image.
func (p Part) IsImage() bool { return strings.HasPrefix(p.MediaType, "image/") }

// IsPDF reports whether the part is a PDF.
func (p Part) IsPDF() bool { return p.MediaType == TypePDF }

// NamedText is how a text part reads at every provider: its text, or a text file in its frame.
func (p Part) NamedText() string {
	if p.MediaType == "" {
		return p.Text
	}
	before, after := p.Frame()
	return before + string(p.Data) + after
}

// Frame is what stands around a text file's data: its name and its type, and its end.
func (p Part) Frame() (before, after string) {
	name := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\"", "&quot;", "\n", " ").Replace(p.Name)
	return "<file name=\"" + name + "\" type=\"" + p.MediaType + "\">\n", "\n</file>"
}

// Private is provider-private data that belongs to an item.
type Private struct {
	Provider string          `json:"provider"`
	Model    string          `json:"model"`
	Data     json.RawMessage `json:"data"`
}

// Delta is a piece of an answer as it comes.
type Delta struct {
	Text      string
	Reasoning bool
}

// StopReason says why an answer ended.
type StopReason string

const (
	StopEnd         StopReason = "end"
	StopToolCalls   StopReason = "tool_calls"
	StopOutputLimit StopReason = "output_limit" // cut off: its tool calls are not to be run (RU8)
	StopFiltered    StopReason = "filtered"
)

// Response is a whole answer: one whose end mark came.
type Response struct {
	Items []ResponseItem
	// Stop is the reason by what the answer holds: an answer with calls that was not cut off is
	// StopToolCalls, whatever the provider called it.
	Stop  StopReason
	Usage api.Usage
}

// ResponseItem is one item of an answer: text, reasoning or a call.
type ResponseItem struct {
	Kind ItemKind
	Text string
	// ProviderCallID, Name and Arguments of a call, as the provider gave them: the ID may be empty or
	// repeated, the arguments any text.
	ProviderCallID string
	Name           string
	Arguments      string
	Private        *Private
}

// ErrorKind is the class of a provider's failure; it decides on retries (LI5).
type ErrorKind string

const (
	KindRateLimited  ErrorKind = "rate_limited" // 429
	KindOverloaded   ErrorKind = "overloaded"   // 5xx, 529, an error object that says so
	KindUnreachable  ErrorKind = "unreachable"  // no connection
	KindCut          ErrorKind = "cut"          // the stream ended or fell silent before its end mark
	KindContext      ErrorKind = "context"      // the conversation does not fit the window
	KindTooLarge     ErrorKind = "too_large"    // 413, or a message that says so: the request, a file, or how many there are
	KindQuota        ErrorKind = "quota"        // no quota left, also as a 429
	KindAuth         ErrorKind = "auth"         // 401, 403
	KindNotFound     ErrorKind = "not_found"    // no such model
	KindRefused      ErrorKind = "refused"      // any other 4xx, with the provider's message
	KindCancelled    ErrorKind = "cancelled"    // ctx ended
	KindMalformed    ErrorKind = "malformed"    // an answer that breaks the protocol
	KindUnclassified ErrorKind = "unclassified" // anything else
)
