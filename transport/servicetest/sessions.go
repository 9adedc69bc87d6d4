package servicetest

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openworkerai/openworker/api"
)

var sessionTests = []test{
	{"SE1 a creation with a key gives one session however often and from wherever it is asked", func(s *stage) {
		s.open(World{})
		other := s.store.Open(s.t, World{})
		opts := api.SessionOptions{IdempotencyKey: "k", Metadata: map[string]string{"a": "b"}}
		var wg sync.WaitGroup
		refs := make([]api.SessionReference, 16)
		for i := range refs {
			wg.Go(func() {
				ref, err := []api.Service{s, other}[i%2].CreateSession(s.Context(), api.AgentReference{Name: "assistant"}, opts)
				if err != nil {
					s.Error(err)
				}
				refs[i] = ref
			})
		}
		wg.Wait()
		if len(slices.Compact(slices.Clone(refs))) != 1 {
			s.Fatalf("made were %v", refs)
		}
		opts.Metadata = map[string]string{"a": "c"}
		_, err := s.CreateSession(s.Context(), s.agent, opts)
		s.code(err, api.CodeSubmissionConflict)
		if !strings.Contains(err.Error(), "metadata") {
			s.Errorf("%v does not name what differs", err)
		}
		page, err := s.Sessions(s.Context(), api.SessionQuery{})
		s.no(err)
		if len(page.Sessions) != 1 {
			s.Fatalf("there are %d sessions", len(page.Sessions))
		}
	}},
	{"SE1 C34 a session is there for every process once its reference is handed out", func(s *stage) {
		s.open(World{})
		other := s.store.Open(s.t, World{})
		id := s.session(api.SessionOptions{Metadata: map[string]string{"k": "v"}, Owner: ""})
		st, err := other.State(s.Context(), id)
		s.no(err)
		if st.Activity != api.Idle || st.Metadata["k"] != "v" || st.Agent != "assistant" || st.LastEvent != 1 || st.Workspace == "" || st.Created.IsZero() {
			s.Fatalf("another process sees %+v", st)
		}
	}},
	{"SE2 a reference of another store, another agent, an unknown or a deleted session is refused with its own code", func(s *stage) {
		s.open(World{})
		id := s.session()
		ref := s.reference(id)
		s.no(s.ResumeSession(s.Context(), ref, "assistant"))
		foreign, unknown := ref, ref
		foreign.Store, unknown.Session = "elsewhere", "s00000000000000000000"
		s.code(s.ResumeSession(s.Context(), foreign, "assistant"), api.CodeForeignStore)
		s.code(s.ResumeSession(s.Context(), unknown, "assistant"), api.CodeSessionNotFound)
		s.code(s.ResumeSession(s.Context(), ref, "other"), api.CodeWrongAgent)
		s.code(s.ResumeSession(s.Context(), api.SessionReference{Store: ref.Store}, ""), api.CodeInvalidRequest)
		s.no(s.DeleteSession(s.Context(), id, api.DeleteOptions{}))
		s.code(s.ResumeSession(s.Context(), ref, "assistant"), api.CodeSessionDeleted)
		page, err := s.Sessions(s.Context(), api.SessionQuery{})
		s.no(err)
		if len(page.Sessions) != 0 {
			s.Fatalf("there are %v", page.Sessions)
		}
	}},
	{"SE1 options that break a rule are refused and make no session", func(s *stage) {
		s.open(World{})
		dir := s.TempDir()
		for _, tt := range []struct {
			name string
			opts api.SessionOptions
			want api.Code
		}{
			{"scratch with a workspace", api.SessionOptions{Scratch: api.Set(true), Workspace: dir}, api.CodeInvalidWorkspace},
			{"neither scratch nor a workspace", api.SessionOptions{Scratch: api.Set(false)}, api.CodeInvalidWorkspace},
			{"a workspace that is not there", api.SessionOptions{Workspace: dir + "/none"}, api.CodeInvalidWorkspace},
			{"a workspace with a NUL", api.SessionOptions{Workspace: dir + "\x00"}, api.CodeInvalidWorkspace},
			{"an unknown provider", api.SessionOptions{Model: &api.ModelRef{Provider: "Nobody", Name: "m"}}, api.CodeUnknownProvider},
			{"a model without a name", api.SessionOptions{Model: &api.ModelRef{Provider: Provider}}, api.CodeInvalidRequest},
			{"history to import that begins with no message", api.SessionOptions{InitialHistory: []api.HistoryImport{{Type: "assistant", Text: "hi"}}}, api.CodeInvalidHistory},
			{"metadata that is too large", api.SessionOptions{Metadata: map[string]string{"k": strings.Repeat("x", api.MaxMetadataBytes)}}, api.CodeInvalidRequest},
			{"metadata that is not UTF-8", api.SessionOptions{Metadata: map[string]string{"k": "\xff"}}, api.CodeInvalidRequest},
			{"an owner with a NUL", api.SessionOptions{Owner: "a\x00"}, api.CodeInvalidRequest},
			{"a key that is too long", api.SessionOptions{IdempotencyKey: strings.Repeat("k", api.MaxSubmissionIDBytes+1)}, api.CodeInvalidRequest},
			{"reviewer context that is too long", api.SessionOptions{AutoApproverContext: api.Set(strings.Repeat("x", api.MaxGuidanceBytes+1))}, api.CodeInvalidGuidance},
		} {
			if _, err := s.CreateSession(s.Context(), s.agent, tt.opts); api.CodeOf(err) != tt.want {
				s.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
			}
		}
		_, err := s.CreateSession(s.Context(), api.AgentReference{Name: "nobody"}, api.SessionOptions{})
		s.code(err, api.CodeAgentNotFound)
		page, err := s.Sessions(s.Context(), api.SessionQuery{})
		s.no(err)
		if len(page.Sessions) != 0 {
			s.Fatalf("there are %v", page.Sessions)
		}
		s.session(api.SessionOptions{Metadata: map[string]string{"k": strings.Repeat("x", api.MaxMetadataBytes-1)}, IdempotencyKey: strings.Repeat("k", api.MaxSubmissionIDBytes)})
	}},
	{"SE6 a session that is deleted under a running worker ends its turn, its followers and its interactions", func(s *stage) {
		stopped := make(chan struct{}, 1)
		entered := newGate()
		w := World{Model: rounds(calls("act")), Tools: []Tool{action("act", "", nil)}}
		w.Tools[0].Run = wait(entered, stopped)
		s.open(w)
		other := s.store.Open(s.t, World{})
		for _, deleter := range []api.Service{s, other} {
			id := s.session(api.SessionOptions{IdempotencyKey: ""})
			run := s.send(id, "go")
			entered.await(s)
			ctx, cancel := s.waiting()
			stream, err := other.Follow(ctx, api.FollowQuery{Session: id})
			s.no(err)
			s.no(deleter.DeleteSession(ctx, id, api.DeleteOptions{}))
			s.no(deleter.DeleteSession(ctx, id, api.DeleteOptions{})) // again changes nothing
			select {
			case <-stopped:
			case <-ctx.Done():
				s.Fatal("the tool was not stopped")
			}
			for {
				_, err := stream.Next(ctx)
				if err == nil {
					continue
				}
				s.code(err, api.CodeSessionDeleted)
				break
			}
			s.no(stream.Close())
			for _, p := range []api.Service{s, other} {
				s.deleted(p, id, run.Run)
			}
			cancel()
		}
	}},
	{"SE1 whatever names a session that is not there says so and makes none", func(s *stage) {
		s.open(World{})
		id := s.session()
		for _, unknown := range []string{"s00000000000000000000", "", "\x00", "\xff", strings.Repeat("s", 4096), id + "x"} {
			for name, err := range s.everything(s, unknown, unknown+"-r2") {
				if c := api.CodeOf(err); c != api.CodeSessionNotFound && c != api.CodeInvalidRequest {
					s.Errorf("%s of session %.40q: %v", name, unknown, err)
				}
			}
		}
		page, err := s.Sessions(s.Context(), api.SessionQuery{})
		s.no(err)
		if len(page.Sessions) != 1 {
			s.Fatalf("there are %d sessions", len(page.Sessions))
		}
	}},
	{"RU11 a turn's model goes before the session's and that before the agent's", func(s *stage) {
		w := World{Model: func(p Prompt) Answer { return Answer{Text: p.Model} }}
		s.open(w)
		plain, own := s.session(), s.session(api.SessionOptions{Model: &api.ModelRef{Provider: strings.ToLower(Provider), Name: "m2"}})
		turn := api.TurnOptions{Model: &api.ModelRef{Provider: Provider, Name: "m3"}}
		if a, b, c, d := s.say(plain, "?"), s.say(own, "?"), s.say(own, "?", turn), s.say(own, "?"); a != "m" || b != "m2" || c != "m3" || d != "m2" {
			s.Fatalf("the models were %s %s %s %s", a, b, c, d)
		}
		if m := s.state(own).Model; m != (api.ModelRef{Provider: Provider, Name: "m2"}) {
			s.Fatalf("the session's model is %v", m)
		}
	}},
}

// everything calls each method that names a session, and gives the errors.
func (s *stage) everything(p api.Service, session, run string) map[string]error {
	s.Helper()
	ctx := s.Context()
	errs := map[string]error{}
	_, errs["State"] = p.State(ctx, session)
	_, errs["Submit"] = p.Submit(ctx, api.Submission{Session: session, Text: "hi", Options: api.TurnOptions{SubmissionID: "x"}})
	_, errs["Run"] = p.Run(ctx, session, run)
	errs["Cancel"] = p.Cancel(ctx, session, run)
	errs["Cancel the current"] = p.Cancel(ctx, session, "")
	errs["Resolve"] = p.Resolve(ctx, session, session+"-i1", api.Answer{Decision: api.AllowOnce})
	_, errs["Result"] = p.Result(ctx, session, run)
	_, errs["Events"] = p.Events(ctx, api.EventQuery{Session: session})
	_, errs["History"] = p.History(ctx, api.HistoryQuery{Session: session})
	stream, err := p.Follow(ctx, api.FollowQuery{Session: session, Run: run})
	if errs["Follow"] = err; err == nil {
		_, errs["Follow"] = stream.Next(ctx)
		_ = stream.Close()
	}
	return errs
}

func (s *stage) deleted(p api.Service, session, run string) {
	s.Helper()
	for name, err := range s.everything(p, session, run) {
		if api.CodeOf(err) != api.CodeSessionDeleted {
			s.Errorf("%s of a deleted session: %v", name, err)
		}
	}
	inbox, err := p.Interactions(s.Context(), api.InteractionQuery{})
	s.no(err)
	if len(inbox.Interactions) > 0 {
		s.Errorf("the inbox holds %v", inbox.Interactions)
	}
}

var listTests = []test{
	{"SE7 SE8 sessions are listed newest first, by owner, agent and activity, in pages", func(s *stage) {
		w := World{Model: rounds(calls("act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", nothing)}}
		s.open(w, asking)
		for _, owner := range []string{"ann", "bob"} {
			_, err := s.RegisterAgent(s.Context(), owner, definition(w, asking))
			s.no(err)
		}
		var ids []string
		for i := range 9 {
			owner := []string{"", "ann", "bob"}[i%3]
			ref, err := s.CreateSession(s.Context(), api.AgentReference{Name: "assistant"}, api.SessionOptions{Owner: owner})
			s.no(err)
			ids = append(ids, ref.Session)
		}
		waiting := s.send(ids[0], "go")
		s.ends(waiting, api.StatusInterrupted)
		list := func(q api.SessionQuery) (got []string) {
			for {
				page, err := s.Sessions(s.Context(), q)
				s.no(err)
				if q.Limit > 0 && len(page.Sessions) > q.Limit {
					s.Fatalf("a page of %d has %d", q.Limit, len(page.Sessions))
				}
				for i, row := range page.Sessions {
					if i > 0 && row.Updated.After(page.Sessions[i-1].Updated) {
						s.Errorf("%s comes behind an older one", row.Reference.Session)
					}
					got = append(got, row.Reference.Session)
				}
				if q.Cursor = page.Next; q.Cursor == "" {
					return got
				}
			}
		}
		same := func(name string, got []string, want ...string) {
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				s.Errorf("%s: got %v, want %v", name, got, want)
			}
		}
		same("all", list(api.SessionQuery{}), slices.Clone(ids)...)
		same("in pages", list(api.SessionQuery{Limit: 2}), slices.Clone(ids)...)
		same("of ann", list(api.SessionQuery{Owner: "ann", Limit: 1}), ids[1], ids[4], ids[7])
		same("waiting", list(api.SessionQuery{Activity: api.Waiting}), ids[0])
		same("idle", list(api.SessionQuery{Activity: api.Idle, Limit: 3}), slices.Clone(ids[1:])...)
		same("running", list(api.SessionQuery{Activity: api.Running}))
		same("of another agent", list(api.SessionQuery{Agent: "other"}))
		same("long ago", list(api.SessionQuery{Before: time.Unix(1, 0)}))
		if first := list(api.SessionQuery{})[0]; first == "" {
			s.Error("no session comes first")
		}
	}},
	{"SE8 open interactions over sessions are one inbox, in pages, by owner", func(s *stage) {
		w := World{Model: rounds(calls("act", "act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", nothing)}}
		s.open(w, asking)
		_, err := s.RegisterAgent(s.Context(), "ann", definition(w, asking))
		s.no(err)
		mine, hers := s.session(), s.session(api.SessionOptions{Owner: "ann"})
		for _, id := range []string{mine, hers} {
			s.ends(s.send(id, "go"), api.StatusInterrupted)
		}
		list := func(q api.InteractionQuery) (got []api.SessionInteraction) {
			for {
				page, err := s.Interactions(s.Context(), q)
				s.no(err)
				got = append(got, page.Interactions...)
				if q.Cursor = page.Next; q.Cursor == "" {
					return got
				}
			}
		}
		all, anns := list(api.InteractionQuery{Limit: 1}), list(api.InteractionQuery{Owner: "ann", Limit: 3})
		if len(all) != 4 || len(anns) != 2 || anns[0].Session != hers || all[0].Session != mine || all[0].ID == all[1].ID {
			s.Fatalf("the inbox holds %+v, ann's %+v", all, anns)
		}
		in := anns[0]
		if in.Kind != api.InteractionApproval || in.Call == nil || in.Call.Name != "act" || in.Call.Arguments != `{"n":0}` || in.Run == "" || in.Asked.IsZero() {
			s.Fatalf("an interaction reads %+v", in)
		}
		s.no(s.Resolve(s.Context(), hers, in.ID, api.Answer{Decision: api.AllowOnce}))
		if rest := list(api.InteractionQuery{Owner: "ann"}); len(rest) != 1 || rest[0].ID != anns[1].ID {
			s.Fatalf("then ann has %+v", rest)
		}
	}},
	{"SE8 OB3 usage is summed by agent and day and outlives its sessions", func(s *stage) {
		s.open(World{Model: func(Prompt) Answer {
			return Answer{Text: "ok", Usage: api.Usage{InputTokens: 10, CachedInputTokens: 4, OutputTokens: 3, ReasoningTokens: 1}}
		}})
		a, b := s.session(), s.session()
		s.say(a, "one")
		s.say(a, "two")
		if u := s.ends(s.send(b, "three"), api.StatusCompleted).Usage; u != (api.Usage{InputTokens: 10, CachedInputTokens: 4, OutputTokens: 3, ReasoningTokens: 1}) {
			s.Fatalf("a run used %+v", u)
		}
		if u := s.state(a).Usage; u.InputTokens != 20 || u.OutputTokens != 6 {
			s.Fatalf("a session used %+v", u)
		}
		s.no(s.DeleteSession(s.Context(), b, api.DeleteOptions{}))
		rows, err := s.Usage(s.Context(), api.UsageQuery{})
		s.no(err)
		var turns, in int64
		for _, r := range rows {
			turns, in = turns+r.Turns, in+r.InputTokens
			if _, err := time.Parse(time.DateOnly, r.Day); err != nil || r.Agent != "assistant" {
				s.Errorf("a row reads %+v", r)
			}
		}
		if turns != 3 || in != 30 {
			s.Fatalf("usage is %+v", rows)
		}
		if rows, err := s.Usage(s.Context(), api.UsageQuery{Owner: "ann"}); err != nil || len(rows) > 0 {
			s.Fatalf("ann used %v, %v", rows, err)
		}
	}},
	{"SE7 a limit out of bounds and a cursor that no page gave are refused", func(s *stage) {
		s.open(World{})
		id := s.session()
		s.say(id, "hi")
		for _, limit := range []int{-1, api.MaxPage + 1, -1 << 62} {
			for name, err := range s.pages(id, limit, "") {
				if api.CodeOf(err) != api.CodeInvalidRequest {
					s.Errorf("%s with limit %d: %v", name, limit, err)
				}
			}
		}
		for name, err := range s.pages(id, api.MaxPage, "") {
			if err != nil {
				s.Errorf("%s with the greatest limit: %v", name, err)
			}
		}
		for _, cursor := range []string{"nonsense", "-1", "\x00", "1e9", "99999999999999999999999999"} {
			errs := s.pages(id, 0, cursor)
			delete(errs, "Agents") // an agent's cursor is a name: any text is one
			delete(errs, "Events") // and an event's is a number
			for name, err := range errs {
				if api.CodeOf(err) != api.CodeInvalidRequest {
					s.Errorf("%s with cursor %q: %v", name, cursor, err)
				}
			}
		}
		_, err := s.Sessions(s.Context(), api.SessionQuery{Activity: "busy"})
		s.code(err, api.CodeInvalidRequest)
	}},
}

// pages calls each list.
func (s *stage) pages(session string, limit int, cursor string) map[string]error {
	ctx := s.Context()
	errs := map[string]error{}
	_, errs["Agents"] = s.Agents(ctx, api.AgentQuery{Limit: limit, Cursor: cursor})
	_, errs["Sessions"] = s.Sessions(ctx, api.SessionQuery{Limit: limit, Cursor: cursor})
	_, errs["Interactions"] = s.Interactions(ctx, api.InteractionQuery{Limit: limit, Cursor: cursor})
	_, errs["History"] = s.History(ctx, api.HistoryQuery{Session: session, Limit: limit, Cursor: cursor})
	_, errs["Events"] = s.Events(ctx, api.EventQuery{Session: session, Limit: limit})
	return errs
}
