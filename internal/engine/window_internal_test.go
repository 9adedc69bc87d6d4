package engine

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/openworkerai/openworker/api"
)

func TestEstimatesOfTokens(t *testing.T) {
	t.Parallel()
	asked := func(size int, tokens int64) func(*Context) {
		return func(c *Context) {
			c.started(size)
			c.reported(api.Usage{InputTokens: tokens})
		}
	}
	overflowed := func(size int) func(*Context) {
		return func(c *Context) {
			c.started(size)
			c.overflowed(100, 0)
		}
	}
	for name, test := range map[string]struct {
		known  []func(*Context)
		size   int
		tokens int
	}{
		"nothing is nothing":                              {nil, 0, 0},
		"less than nothing is nothing":                    {nil, -9, 0},
		"before a report texts are dense":                 {nil, 1000, 500},
		"and parts of a token are one":                    {nil, 1, 1},
		"what was reported is known":                      {[]func(*Context){asked(1000, 250)}, 1000, 250},
		"what is new is dense at least":                   {[]func(*Context){asked(1000, 200)}, 2000, 200 + 500},
		"and denser where the rest was":                   {[]func(*Context){asked(1000, 600)}, 2000, 600 + 690},
		"less is a little denser":                         {[]func(*Context){asked(1000, 200)}, 500, 110},
		"but never more than the whole":                   {[]func(*Context){asked(1000, 200)}, 990, 200},
		"the newest report holds":                         {[]func(*Context){asked(1000, 200), asked(2000, 800)}, 2000, 800},
		"a report of nothing teaches nothing":             {[]func(*Context){asked(1000, 200), asked(2000, 0)}, 1000, 200},
		"a report below zero teaches nothing":             {[]func(*Context){asked(1000, -5)}, 1000, 500},
		"a report on a request without size neither":      {[]func(*Context){asked(0, 7)}, 1000, 500},
		"a report that is too small cannot be":            {[]func(*Context){asked(1000, 1)}, 1000, 100},
		"a report that is too large cannot be":            {[]func(*Context){asked(1000, 1<<60)}, 1000, 3000},
		"though a provider may count words of its own":    {[]func(*Context){asked(100, 1500)}, 100, 1500},
		"which are not counted again with what is new":    {[]func(*Context){asked(100, 1500)}, 1100, 1500 + 1150},
		"an overflow is not a report":                     {[]func(*Context){asked(1000, 200), overflowed(2000)}, 2000, 700},
		"sizes beyond all bounds do not come out as less": {[]func(*Context){asked(1<<62, 1<<62)}, 1 << 62, 1<<28 + 2000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c Context
			for _, learn := range test.known {
				learn(&c)
			}
			if got := c.Tokens(test.size); got != test.tokens {
				t.Errorf("%d bytes are %d tokens, want %d (%+v)", test.size, got, test.tokens, c)
			}
		})
	}
}

func TestAnEstimateOfOursTeachesNothing(t *testing.T) {
	t.Parallel()
	var c Context
	c.started(1000)
	c.reported(api.Usage{InputTokens: 200, Estimated: true})
	if got := c.Tokens(1000); got != 500 {
		t.Errorf("%d tokens", got)
	}
}

// LI5: after an overflow the next request is smaller, whatever the window was said to be, and its answer asks for less.
func TestAfterAnOverflowTheWindowIsSmallerThanWhatWasTooMuch(t *testing.T) {
	t.Parallel()
	c := Context{Bytes: 900}
	is := func(when string, windows map[int]int) {
		t.Helper()
		for window, want := range windows {
			if got := c.Window(window); got != want {
				t.Errorf("%s, a window of %d is %d, want %d", when, window, got, want)
			}
		}
	}
	m := api.ModelRef{Provider: "P", Name: "m"}
	c.turn(m)
	c.started(1000)
	is("before", map[int]int{0: 0, 300: 300, 8000: 8000})
	c.overflowed(600, 0) // 500 tokens and 600 for the answer
	is("after it", map[int]int{0: 880, 300: 300, 8000: 880})
	if got := c.smaller(880); got != 400 {
		t.Errorf("the conversation is brought within %d", got)
	}
	c.started(700)
	is("while the next is under way", map[int]int{0: 880, 8000: 880})
	c.compacted(Plan{Bytes: 5}, 0, 0)
	if !c.Tried || c.Vain || c.Bytes != 900 {
		t.Errorf("where nothing could be made smaller, it is %+v", c)
	}
	is("where nothing could be made smaller", map[int]int{0: 880, 8000: 880})
	c.reported(api.Usage{})
	if c.Tried {
		t.Error("what was tried and answered is still being tried")
	}
	is("once one was answered", map[int]int{0: 880, 8000: 8000})
	c.overflowed(600, 0) // of 700 bytes
	is("after a smaller one", map[int]int{0: 760})
	told := c
	told.overflowed(600, 790)
	told.reported(api.Usage{})
	told.turn(m)
	if a, b := told.Window(0), told.Window(8000); a != 790 || b != 790 {
		t.Errorf("a window that the provider told is %d, and %d where a table says 8000", a, b)
	}
	series := c
	series.started(600)
	series.overflowed(600, 0)
	if got := series.Window(8000); got != 150 {
		t.Errorf("after a second overflow in a row, of 300 tokens, the window is %d", got)
	}
	series.compacted(Plan{}, 0, 0)
	series.overflowed(600, 0)
	if series.Tried || !series.Vain {
		t.Errorf("what was tried was too much, and it is %+v", series)
	}
	series.compacted(Plan{Items: 1, Bytes: 5}, 0, 0)
	if series.Tried || series.Vain || series.Over != 600 {
		t.Errorf("once something is smaller, it is %+v", series)
	}
	unanswered := c
	unanswered.turn(m)
	if got := unanswered.Window(0); got != 0 {
		t.Errorf("what overflows taught that no answer followed is a window of %d in the next turn", got)
	}
	c.reported(api.Usage{})
	c.turn(m)
	is("in the next turn", map[int]int{0: 760, 8000: 8000})
	c.turn(api.ModelRef{Provider: "P", Name: "other"})
	is("with another model", map[int]int{0: 0, 8000: 8000})
	var never Context
	never.overflowed(100, 0)
	if got := never.Window(8000); got != 8000 {
		t.Errorf("an overflow of no request makes it %d", got)
	}
}

func TestAnEstimateNeverFallsAsARequestGrows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var c Context
		size := rapid.OneOf(rapid.IntRange(-10, 4000), rapid.Int())
		for range rapid.IntRange(0, 4).Draw(t, "reports") {
			c.started(size.Draw(t, "size"))
			if rapid.Bool().Draw(t, "too much") {
				c.overflowed(100, 0)
			} else {
				c.reported(api.Usage{InputTokens: rapid.OneOf(rapid.Int64Range(-10, 4000), rapid.Int64()).Draw(t, "tokens")})
			}
		}
		small, large := size.Draw(t, "small"), size.Draw(t, "large")
		if small > large {
			small, large = large, small
		}
		a, b := c.Tokens(small), c.Tokens(large)
		if a > b || a < 0 || large > 0 && b == 0 {
			t.Fatalf("%d bytes are %d tokens and %d are %d (%+v)", small, a, large, b, c)
		}
		if least := c.Least(large); c.Least(small) > least || least > b || least < 0 {
			t.Fatalf("%d bytes are at least %d tokens, %d are %d, and at most %d (%+v)", small, c.Least(small), large, least, b, c)
		}
		if got := c.smaller(c.Window(0)); c.Over > 0 && got >= c.Tokens(c.Over) && got > 1 {
			t.Fatalf("a request of %d bytes overflowed, and the next may have %d of its %d tokens", c.Over, got, c.Tokens(c.Over))
		}
	})
}

// What a provider counts is within the estimate while the text stays of one kind.
func TestAnEstimateIsNotBelowWhatComes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var c Context
		dense, fixed := rapid.IntRange(150, 390).Draw(t, "tokens of 1,000 bytes"), rapid.IntRange(400, 900).Draw(t, "fixed")
		size := fixed
		for range rapid.IntRange(1, 20).Draw(t, "requests") {
			c.add(rapid.IntRange(0, 5000).Draw(t, "more"))
			size = fixed + c.Bytes
			if estimate, truth := c.Tokens(size), size*dense/1000; estimate < truth {
				t.Fatalf("%d tokens are estimated, %d come (%+v)", estimate, truth, c)
			}
			c.started(size)
			c.reported(api.Usage{InputTokens: int64(size * dense / 1000)})
			if rapid.IntRange(0, 5).Draw(t, "compact") == 0 {
				c.compacted(Plan{Items: 1, Bytes: c.Bytes / 3}, 0, c.Bytes/10)
			}
		}
	})
}
