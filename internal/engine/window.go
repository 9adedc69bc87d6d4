package engine

import (
	"slices"

	"github.com/openworkerai/openworker/api"
)

// entryOverhead is what an entry takes in a request beside its texts, in bytes.
const entryOverhead = 100

// EntryBytes is the size of an entry, by which contexts are measured.
func EntryBytes(e Entry) int {
	return entryOverhead + len(e.Text) + len(e.Arguments) + len(e.Private) + contentBytes(e.Content)
}

// contextBytes is what an event adds to the model's context: a message once its turn starts, a notice with the next
// turn, all else at once.
func contextBytes(e Event) int {
	switch e := e.(type) {
	case TurnAccepted:
		if e.Compact {
			return 0
		}
		return entryOverhead + len(e.Text) + contentBytes(e.Content)
	case HistoryImported:
		n := 0
		for _, entry := range e.entries(Fact{}) {
			n += EntryBytes(entry)
		}
		return n
	case ModelFinished:
		n := 0
		for _, it := range e.Items {
			n += entryOverhead + len(it.Text) + len(it.Private)
			if it.Kind == ItemCall {
				n += len(it.Arguments) + entryOverhead
				if it.Code != "" {
					n += len(it.Message)
				}
			}
		}
		return n
	case InteractionResolved:
		return len(changed(e.Arguments))
	case ToolFinished:
		return len(e.Output)
	case ToolLate:
		shown, _ := shorten(e.notice(), 0, maxNoticeBytes)
		return entryOverhead + len(shown)
	}
	return 0
}

// Context is what is known of the size of the model's context, by which compaction is due before a request fails
// (CO1). Sizes are in bytes. The zero Context is that of a session without a request.
type Context struct {
	// Bytes is the size of the entries of [Transcript.Context].
	Bytes int `json:"bytes,omitempty"`
	// Files are those that the context has.
	Files []HeldFile `json:"files,omitempty"`
	// Size is that of the newest request, with what it has beside the conversation.
	Size int `json:"size,omitempty"`
	// Known is the size of the newest request whose tokens a provider has reported, Reported are those tokens.
	Known    int `json:"known,omitempty"`
	Reported int `json:"reported,omitempty"`
	// Over is the size of the newest request that was too much for the model, until one is not.
	Over int `json:"over,omitempty"`
	// Limit are the tokens that the Model's window is taken to have by its overflows, 0 without one.
	// Told: its provider said so.
	Limit int          `json:"limit,omitempty"`
	Told  bool         `json:"told,omitempty"`
	Model api.ModelRef `json:"model,omitzero"`
	// Tried: nothing could be made smaller, so a request that may be too much is made. The provider has the last word,
	// and not an estimate. Vain: it was too much, and nothing has become smaller since.
	Tried bool `json:"tried,omitempty"`
	Vain  bool `json:"vain,omitempty"`
}

// Rates are in tokens for 1,000 bytes. What no report covers is taken to be dense: base64 and the like. No text is taken
// to be thinner than sparseRate.
const (
	denseRate  = 500
	sparseRate = 200
	minRate    = 100
	maxRate    = 1000

	// hiddenTokens is what a provider may count beside the request that it was sent.
	hiddenTokens = 2000
	maxBytes     = 1 << 28 // sizes above are taken for this: no product below overflows
)

// add counts what comes into the context.
func (c *Context) add(n int) { c.Bytes += n }

// turn notes that a turn begins, perhaps with another model: what was too much before is tried again. What overflows
// taught without an answer after them is forgotten: whatever was wrong, no window need be that small.
func (c *Context) turn(m api.ModelRef) {
	if m != c.Model || c.Over > 0 && !c.Told {
		c.Model, c.Limit, c.Told = m, 0, false
	}
	c.Over, c.Tried, c.Vain = 0, false, false
}

// started notes the size of a request.
func (c *Context) started(size int) { c.Size = min(max(size, 0), maxBytes) }

// reported notes what the provider counted for the request that started last. A figure that cannot be is brought to
// the nearest that can; none at all teaches nothing.
func (c *Context) reported(u api.Usage) {
	if c.Over, c.Tried, c.Vain = 0, false, false; c.Size == 0 || u.InputTokens <= 0 || u.Estimated {
		return
	}
	least, most := ceil(c.Size*minRate, 1000), ceil(c.Size*maxRate, 1000)+hiddenTokens
	c.Known, c.Reported = c.Size, max(int(min(u.InputTokens, int64(most))), least)
}

// compacted notes that a plan is in effect around the current message, with a summary of so many bytes if it has one.
func (c *Context) compacted(p Plan, current uint64, summary int) {
	if p.empty() {
		c.Tried = true
		return
	}
	var held []HeldFile
	for _, h := range c.Files {
		if h.Number == current || slices.Contains(p.Files, h.Number) {
			held = append(held, h)
		}
	}
	c.Files = held
	c.Bytes, c.Tried, c.Vain = p.Bytes, false, false
	if p.Items > 0 {
		c.Bytes += entryOverhead + summary
	}
}

// overflowed notes that the request that started last was too much with its answer of max tokens. The window is what the
// provider told of it; where it told nothing, four fifths of what both wanted, whatever the estimate was before, and of
// a second one in a row half of what the request had.
func (c *Context) overflowed(max, told int) {
	again := c.Over > 0
	c.Vain, c.Tried = c.Vain || c.Tried, false
	if c.Over = c.Size; c.Over == 0 {
		return
	}
	limit := (c.Tokens(c.Size) + min(max, maxBytes)) * 4 / 5
	if again {
		limit = ceil(c.Tokens(c.Size), 2)
	}
	switch {
	case told > 0:
		c.Limit, c.Told = min(told, maxBytes), true
	case c.Limit == 0 || limit < c.Limit:
		c.Limit, c.Told = limit, false
	}
}

// Tokens estimates the tokens of a request of so many bytes, rather too high than too low. It never falls as size
// grows.
func (c Context) Tokens(size int) int {
	size = min(max(size, 0), maxBytes)
	switch {
	case c.Known <= 0 || c.Reported <= 0:
		return ceil(size*denseRate, 1000)
	case size <= c.Known: // at a tenth more for each byte, but not at more than the whole had
		return min(c.Reported, ceil(size*c.Reported*11, c.Known*10))
	}
	rate := min(max(ceil(c.Reported*1000, c.Known), minRate), maxRate)
	return c.Reported + ceil((size-c.Known)*max(ceil(rate*115, 100), denseRate), 1000)
}

// about is the likeliest number of tokens of so many bytes, where Tokens is a bound.
func (c Context) about(size int) int {
	if size = min(max(size, 0), maxBytes); size <= c.Known && c.Reported > 0 {
		return ceil(size*c.Reported, c.Known)
	}
	return c.Tokens(size)
}

// Least is a bound from below where Tokens is one from above.
func (c Context) Least(size int) int {
	size = min(max(size, 0), maxBytes)
	if c.Known <= 0 || c.Reported <= 0 {
		return size * sparseRate / 1000
	}
	if size <= c.Known {
		return min(size*sparseRate/1000, size*c.Reported/c.Known)
	}
	return min(c.Known*sparseRate/1000, c.Reported) + (size-c.Known)*sparseRate/1000
}

// Window is the part of a model's window that is known to be there, both in tokens by this estimate; 0 is unknown. What
// its provider told with an overflow holds. What overflows alone taught holds where nobody says how large it is, and
// while a request that was too much is made again.
func (c Context) Window(tokens int) int {
	switch {
	case c.Limit == 0 || tokens > 0 && c.Over == 0 && !c.Tried && !c.Told:
		return tokens
	case tokens <= 0:
		return c.Limit
	}
	return min(tokens, c.Limit)
}

// smaller is the part of a window within which the conversation is brought: less than what was too much had alone.
func (c Context) smaller(window int) int {
	if c.Over == 0 {
		return window
	}
	return min(window, max(c.Tokens(c.Over)*4/5, 1))
}

func ceil(n, by int) int { return (n + by - 1) / by }
