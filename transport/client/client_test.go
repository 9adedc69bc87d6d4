package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/tool"
	"github.com/openworkerai/openworker/transport/client"
	"github.com/openworkerai/openworker/transport/rpc"
)

// peer is a runtime of a test's, line by line.
type peer struct {
	t     *testing.T
	lines chan line
	out   io.Writer
	end   func()
}

type line struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int           `json:"code"`
		Message string        `json:"message"`
		Data    rpc.ErrorData `json:"data"`
	} `json:"error"`
}

// pipes makes a peer and the client's ends.
func pipes(t *testing.T) (*peer, io.ReadCloser, io.WriteCloser) {
	theirs, out := io.Pipe()
	in, ours := io.Pipe()
	p := &peer{t: t, lines: make(chan line, 64), out: ours, end: sync.OnceFunc(func() { _, _ = ours.Close(), theirs.Close() })}
	t.Cleanup(p.end)
	go func() {
		defer close(p.lines)
		scanner := bufio.NewScanner(theirs)
		scanner.Buffer(nil, rpc.MaxFrameBytes+1)
		for scanner.Scan() {
			var l line
			if err := json.Unmarshal(scanner.Bytes(), &l); err != nil {
				t.Errorf("the client sent %q: %v", scanner.Text(), err)
			}
			p.lines <- l
		}
	}()
	return p, in, out
}

// say writes a line.
func (p *peer) say(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.out, text+"\n"); err != nil {
		p.t.Error(err)
	}
}

// next is the client's next line, which is of a method, "" for an answer.
func (p *peer) next(method string) line {
	p.t.Helper()
	l, ok := <-p.lines
	if !ok || l.Method != method {
		p.t.Fatalf("the client sent %+v, %t; want %s", l, ok, method)
	}
	return l
}

// answer answers the client's next line.
func (p *peer) answer(method, answer string) line {
	p.t.Helper()
	l := p.next(method)
	p.say(`{"jsonrpc":"2.0","id":` + string(l.ID) + `,` + answer + `}`)
	return l
}

const hello = `"result":{"protocolVersion":1}`

// dial is a client and its runtime.
func dial(t *testing.T, cfg client.Config) (*peer, *client.Client) {
	t.Helper()
	p, in, out := pipes(t)
	go p.answer(rpc.MethodInitialize, hello)
	c, err := client.Dial(t.Context(), in, out, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p, c
}

func TestAClientSaysWhatItIsAndTakesNoRuntimeThatItDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	secret := func(context.Context, string) (string, bool, error) { return "", false, nil }
	for name, test := range map[string]struct {
		cfg    client.Config
		answer string // "" where nothing is sent
		want   api.Code
		says   string // in what it sends
	}{
		"by default":              {answer: hello, says: `"protocolVersions":[1],"client":{"name":"go","version":""}}`},
		"with a check":            {cfg: client.Config{Deny: func(context.Context, guard.ToolAction) (guard.Verdict, error) { return guard.Allow(), nil }}, answer: hello, says: `"actionCheck":true`},
		"with a callback":         {cfg: client.Config{Credential: secret}, answer: hello, says: `"source":"callback"`},
		"of another version":      {answer: `"result":{"protocolVersion":7}`, want: api.CodeIncompatibleVersion},
		"that refuses":            {answer: `"error":{"code":-32072,"message":"no","data":{"code":"store_read_only"}}`, want: api.CodeStoreReadOnly},
		"a callback without code": {cfg: client.Config{Credentials: &rpc.Credentials{Source: rpc.CredentialsCallback}}, want: api.CodeInvalidRequest},
		"two sources":             {cfg: client.Config{Credential: secret, Credentials: &rpc.Credentials{Source: rpc.CredentialsMemory}}, want: api.CodeInvalidRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, in, out := pipes(t)
			said := make(chan line, 1)
			if test.answer != "" {
				go func() { said <- p.answer(rpc.MethodInitialize, test.answer) }()
			}
			_, err := client.Dial(t.Context(), in, out, test.cfg)
			if api.CodeOf(err) != test.want {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			if test.says != "" && !strings.Contains(string((<-said).Params), test.says) {
				t.Error("it did not say", test.says)
			}
			if err != nil {
				if _, err := in.Read(make([]byte, 1)); !errors.Is(err, io.ErrClosedPipe) {
					t.Errorf("what it read is not closed: %v", err)
				}
			}
		})
	}
}

func TestARuntimeThatEndsFailsWhatIsUnderWayAndWhatComesLater(t *testing.T) {
	t.Parallel()
	p, c := dial(t, client.Config{})
	failed := make(chan error, 1)
	go func() {
		_, err := c.State(context.Background(), "s")
		failed <- err
	}()
	p.next(rpc.MethodState)
	p.end()
	if err := <-failed; !errors.Is(err, api.ErrRuntimeExited) {
		t.Error(err)
	}
	<-c.Done()
	if _, err := c.State(t.Context(), "s"); !errors.Is(err, api.ErrRuntimeExited) {
		t.Error(err)
	}
	if err := c.Close(t.Context()); !errors.Is(err, api.ErrRuntimeExited) {
		t.Error(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// RU6
func TestARequestThatIsGivenUpCameToWhatTheRuntimeSaysOfIt(t *testing.T) {
	t.Parallel()
	why := errors.New("the user left")
	for name, test := range map[string]struct {
		answer string // "" for none
		want   api.Code
		after  time.Duration
	}{
		"given up":          {answer: `"error":{"code":-32065,"message":"not accepted","data":{"code":"cancelled"}}`, want: api.CodeCancelled},
		"accepted already":  {answer: `"result":{"session":"s","run":"r","accepted":3}`},
		"refused meanwhile": {answer: `"error":{"code":-32050,"message":"busy","data":{"code":"session_busy"}}`, want: api.CodeSessionBusy},
		"never answered":    {want: api.CodeCancelled, after: 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p, c := dial(t, client.Config{})
				ctx, cancel := context.WithCancelCause(t.Context())
				go func() {
					sent := p.next(rpc.MethodSubmit)
					cancel(why)
					given := p.next(rpc.MethodCancelRequest)
					if want := `{"id":` + string(sent.ID) + `}`; string(given.Params) != want || given.ID != nil {
						t.Errorf("it gave up %s, want %s", given.Params, want)
					}
					if test.answer != "" {
						p.say(`{"jsonrpc":"2.0","id":` + string(sent.ID) + `,` + test.answer + `}`)
					}
				}()
				begun := time.Now()
				run, err := c.Submit(ctx, api.Submission{Session: "s", Text: "go"})
				if api.CodeOf(err) != test.want || test.want == "" && run.Accepted != 3 || test.want == api.CodeCancelled && !errors.Is(err, why) {
					t.Errorf("it came to %+v, %v", run, err)
				}
				if took := time.Since(begun); took != test.after {
					t.Errorf("it took %v", took)
				}
				if _, err := c.Submit(ctx, api.Submission{Session: "s", Text: "go"}); !errors.Is(err, why) { // and sends nothing
					t.Error(err)
				}
				p.end()
			})
		})
	}
}

func TestAReaderThatStopsWaitingLosesNoEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, c := dial(t, client.Config{})
		go p.answer(rpc.MethodSubscribe, `"result":{"subscription":"s1"}`)
		stream, err := c.Follow(t.Context(), api.FollowQuery{Session: "s"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := stream.Next(ctx); !errors.Is(err, context.DeadlineExceeded) || api.CodeOf(err) != api.CodeCancelled {
			t.Fatal(err)
		}
		p.answer(rpc.MethodNext, `"result":{"events":[{"number":1},{"number":2}],"end":true}`)
		for want := range uint64(2) {
			if e, err := stream.Next(t.Context()); err != nil || e.Number != want+1 {
				t.Fatal(e, err)
			}
		}
		for range 2 {
			if _, err := stream.Next(t.Context()); !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := stream.Close(); err != nil {
				t.Fatal(err)
			}
		}
		p.next(rpc.MethodUnsubscribe)
		p.end()
	})
}

// A subscription that began after its caller had gone is ended.
func TestASubscriptionOfNobodysIsEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, c := dial(t, client.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			synctest.Wait()
			cancel()
		}()
		if _, err := c.Follow(ctx, api.FollowQuery{Session: "s"}); api.CodeOf(err) != api.CodeCancelled {
			t.Fatal(err)
		}
		sent := p.next(rpc.MethodSubscribe)
		p.next(rpc.MethodCancelRequest)
		p.say(`{"jsonrpc":"2.0","id":` + string(sent.ID) + `,"result":{"subscription":"s9"}}`)
		if l := p.next(rpc.MethodUnsubscribe); string(l.Params) != `{"subscription":"s9"}` {
			t.Fatal(string(l.Params))
		}
		p.end()
	})
}

func TestABodysTimeToBeginAndItsEndAreKept(t *testing.T) {
	t.Parallel()
	p, c := dial(t, client.Config{})
	begun := make(chan string, 8)
	body := tool.Must(tool.New("wait", "Waits.", func(ctx context.Context, call tool.Call, _ struct{}) (string, error) {
		begun <- call.ID
		<-ctx.Done()
		return "", ctx.Err()
	}))
	registered := make(chan line, 1)
	go func() { registered <- p.answer(rpc.MethodRegisterTools, `"result":{}`) }()
	if err := c.Bind(body); err != nil {
		t.Fatal(err)
	}
	var tools rpc.RegisterTools
	if err := json.Unmarshal((<-registered).Params, &tools); err != nil {
		t.Fatal(err)
	}
	ask := func(id, call, start string) {
		p.say(`{"jsonrpc":"2.0","id":` + id + `,"method":"tool/run","params":{"callback":"t` + id + `","callId":"` + call + `","tool":"wait","handle":"` + tools.Tools[0].Handle + `","arguments":{}` + start + `}}`)
	}
	ask("1", "late", `,"startBefore":"2020-01-01T00:00:00Z"`)
	if l := p.next(""); l.Error == nil || l.Error.Code != rpc.TooLate {
		t.Fatalf("got %+v", l)
	}
	ask("2", "soon", "")
	p.say(`{"jsonrpc":"2.0","method":"callback/cancel","params":{"callback":"t2"}}`)
	if l := p.next(""); l.Error == nil || l.Error.Data.Code != api.CodeToolFailed || l.Error.Message != context.Canceled.Error() {
		t.Fatalf("got %+v", l.Error)
	}
	if id := <-begun; id != "soon" {
		t.Fatalf("%s began", id)
	}
	p.say(`{"jsonrpc":"2.0","id":3,"method":"tool/fly","params":{}}`)
	if l := p.next(""); l.Error == nil || l.Error.Code != -32601 {
		t.Fatalf("got %+v", l)
	}
}

// What a runtime does wrong leaves nobody waiting.
func TestAnErrorThatIsNobodysEndsTheConnection(t *testing.T) {
	t.Parallel()
	p, c := dial(t, client.Config{})
	failed := make(chan error, 1)
	go func() {
		_, err := c.Capabilities(context.Background())
		failed <- err
	}()
	p.next(rpc.MethodCapabilities)
	p.say(`{"jsonrpc":"2.0","id":77,"result":{}}`) // of a request that nobody made
	p.say(`{"jsonrpc":"2.0","method":"some/news"}`)
	p.say(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"a line is not JSON"}}`)
	if err := <-failed; !errors.Is(err, api.ErrInternal) || !strings.Contains(err.Error(), "not JSON") {
		t.Error(err)
	}
}
