package engine

import "github.com/openworkerai/openworker/api"

// entryOverhead is what an entry takes in a request beside its texts, in bytes.
const entryOverhead = 100

// EntryBytes is the size of an entry, by which contexts are measured.
func EntryBytes(e Entry) int {
	return entryOverhead + len(e.Text) + len(e.Arguments) + len(e.Private)
}

// contextBytes is what an event adds to the model's context: a message once its turn starts, a notice with the next
// turn, all else at once.
func contextBytes(e Event) int {
	switch e := e.(type) {
	case TurnAccepted:
		if e.Compact {
			return 0
		}
		return entryOverhead + len(e.Text)
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
		return entryOverhead + len(e.notice())
	}
	return 0
}

// Context is what is known of the size of the model's context, by which compaction is due before a request fails
// (CO1). Sizes are in bytes. The zero Context is that of a session without a request.
type Context struct {
	// Bytes is the size of the entries of [Transcript.Context].
	Bytes int `json:"bytes,omitempty"`
	// Size is that of the newest request, with what it has beside the conversation.
	Size int `json:"size,omitempty"`
	// Known is the size of the newest request whose tokens a provider has reported, Reported are those tokens.
	Known    int `json:"known,omitempty"`
	Reported int `json:"reported,omitempty"`
	// Over is the size of a request that was too much for the model, until one is not.
	Over int `json:"over,omitempty"`
}

// Rates are in tokens for 1,000 bytes. Without a report texts are taken to be dense; behind one, what is new is never
// taken to be thinner than ordinary prose.
const (
	denseRate = 400
	proseRate = 300
	minRate   = 100
	maxRate   = 1000

	// hiddenTokens is what a provider may count beside the request that it was sent.
	hiddenTokens = 2000
	maxBytes     = 1 << 28 // sizes above are taken for this: no product below overflows
)

// add counts what comes into the context.
func (c *Context) add(n int) { c.Bytes += n }

// started notes the size of a request.
func (c *Context) started(size int) { c.Size = min(max(size, 0), maxBytes) }

// reported notes what the provider counted for the request that started last. A figure that cannot be is brought to
// the nearest that can; none at all teaches nothing.
func (c *Context) reported(u api.Usage) {
	if c.Over = 0; c.Size == 0 || u.InputTokens <= 0 || u.Estimated {
		return
	}
	least, most := ceil(c.Size*minRate, 1000), ceil(c.Size*maxRate, 1000)+hiddenTokens
	c.Known, c.Reported = c.Size, max(int(min(u.InputTokens, int64(most))), least)
}

// compacted notes that a plan is in effect, with a summary of so many bytes if it has one.
func (c *Context) compacted(p Plan, summary int) {
	c.Bytes = p.Bytes
	if p.Items > 0 {
		c.Bytes += entryOverhead + summary
	}
}

// overflowed notes that the request that started last was too much: whatever its estimate was, the window is smaller.
func (c *Context) overflowed() { c.Over = c.Size }

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
	return c.Reported + ceil((size-c.Known)*max(ceil(rate*115, 100), proseRate), 1000)
}

// Window is the part of a model's window that is known to be there, both in tokens by this estimate; 0 is unknown. Once a
// request was too much for it, it is taken to be a fifth smaller than that request.
func (c Context) Window(tokens int) int {
	if c.Over == 0 {
		return tokens
	}
	over := max(c.Tokens(c.Over)*4/5, 1)
	if tokens <= 0 {
		return over
	}
	return min(tokens, over)
}

func ceil(n, by int) int { return (n + by - 1) / by }
