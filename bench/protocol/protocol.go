package protocol

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// Turn runs one turn of a session: message, model call, tool call, model call, text.
type Turn func() error

// Peer is a system under measurement. NewSession is called from several goroutines at once.
type Peer interface {
	NewSession() (Turn, error)
	// Long continues the long session, or begins it.
	Long() (Turn, error)
	Close() error
}

// Options are what the driver starts a system with.
type Options struct {
	URL      string // of the model server, up to /v1
	State    string // directory for what it stores
	Mode     string // one of its own variants; "" is its default
	Database string // URL of a database, for variants that need one
}

// Parse reads options from arguments.
func Parse(args []string) (Options, error) {
	var o Options
	flags := flag.NewFlagSet("peer", flag.ContinueOnError)
	flags.StringVar(&o.URL, "url", "", "the model server")
	flags.StringVar(&o.State, "state", "", "directory to store in")
	flags.StringVar(&o.Mode, "mode", "", "variant")
	flags.StringVar(&o.Database, "database", "", "URL of a database")
	err := flags.Parse(args)
	return o, err
}

// Answer is what a system says about the turns of one command. Times are milliseconds unless they are Seconds.
type Answer struct {
	Ready   bool    `json:"ready,omitempty"`
	Turns   int     `json:"turns"`
	Seconds float64 `json:"seconds"`
	P50     float64 `json:"p50"`
	P99     float64 `json:"p99"`
	Error   string  `json:"error,omitempty"`
}

// Serve answers commands until the input ends, and closes the peer.
func Serve(in io.Reader, out io.Writer, p Peer) error {
	encoder := json.NewEncoder(out)
	if err := encoder.Encode(Answer{Ready: true}); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		answer, err := do(p, lines.Text())
		if err != nil {
			_ = encoder.Encode(Answer{Error: err.Error()})
			_ = p.Close()
			return err
		}
		if err := encoder.Encode(answer); err != nil {
			return err
		}
	}
	return p.Close()
}

func do(p Peer, line string) (Answer, error) {
	var sessions, turns int
	var seconds float64
	if _, err := fmt.Sscanf(line, "load %d %g %d", &sessions, &seconds, &turns); err == nil {
		return load(p, sessions, time.Duration(seconds*float64(time.Second)), turns)
	}
	if _, err := fmt.Sscanf(line, "turns %d", &turns); err == nil {
		return long(p, turns)
	}
	return Answer{}, fmt.Errorf("unknown command %q", line)
}

// load counts the making of a session into the time of its first turn.
func load(p Peer, sessions int, length time.Duration, turns int) (Answer, error) {
	var wg sync.WaitGroup
	times := make([][]time.Duration, sessions)
	errs := make(chan error, sessions)
	start := time.Now()
	for i := range sessions {
		wg.Go(func() {
			var turn Turn
			var err error
			for n := 0; time.Since(start) < length && len(errs) == 0; n++ {
				begun := time.Now()
				if n%turns == 0 {
					turn, err = p.NewSession()
				}
				if err == nil {
					err = turn()
				}
				if err != nil {
					errs <- err
					return
				}
				times[i] = append(times[i], time.Since(begun))
			}
		})
	}
	wg.Wait()
	elapsed := time.Since(start)
	if len(errs) > 0 {
		return Answer{}, <-errs
	}
	return answer(slices.Concat(times...), elapsed)
}

func long(p Peer, turns int) (Answer, error) {
	start := time.Now()
	turn, err := p.Long()
	if err != nil {
		return Answer{}, err
	}
	var times []time.Duration
	for range turns {
		begun := time.Now()
		if err := turn(); err != nil {
			return Answer{}, err
		}
		times = append(times, time.Since(begun))
	}
	return answer(times, time.Since(start))
}

func answer(times []time.Duration, elapsed time.Duration) (Answer, error) {
	if len(times) == 0 {
		return Answer{}, fmt.Errorf("no turn came to an end in %s", elapsed)
	}
	slices.Sort(times)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return Answer{Turns: len(times), Seconds: elapsed.Seconds(), P50: ms(times[len(times)/2]), P99: ms(times[len(times)*99/100])}, nil
}
