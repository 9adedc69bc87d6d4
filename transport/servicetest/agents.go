package servicetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/openworkerai/openworker/api"
)

var agentTests = []test{
	{"AG3 registering the same definition again changes nothing", func(s *stage) {
		w := World{Tools: []Tool{action("app.act", "", nil)}}
		s.open(w)
		again := s.register(s, w, func(d *api.AgentDefinition) {
			d.Limits.MaxModelCalls = api.Set(api.DefaultMaxModelCalls) // an option at its default is no difference
			d.DefaultModel.Provider = strings.ToUpper(Provider)
		})
		if again != s.agent || again.Digest == "" {
			s.Fatalf("the first registration gave %+v, the second %+v", s.agent, again)
		}
		page, err := s.Agents(s.Context(), api.AgentQuery{})
		s.no(err)
		if len(page.Agents) != 1 || page.Agents[0].DefaultModel.Provider != Provider {
			s.Fatalf("registered are %+v", page.Agents)
		}
	}},
	{"AG3 another definition under a taken name is refused with the fields that differ", func(s *stage) {
		s.open(World{})
		_, err := s.RegisterAgent(s.Context(), "", definition(World{}, func(d *api.AgentDefinition) { d.Instructions, d.UnknownOutcome = "Other.", api.OutcomeTellModel }))
		s.code(err, api.CodeDefinitionConflict)
		for _, field := range []string{"instructions", "unknownOutcome"} {
			if !strings.Contains(err.Error(), field) {
				s.Errorf("%v does not name %s", err, field)
			}
		}
		page, err := s.Agents(s.Context(), api.AgentQuery{})
		s.no(err)
		if len(page.Agents) != 1 || page.Agents[0].Instructions != "Help." {
			s.Fatalf("registered are %+v", page.Agents)
		}
	}},
	{"AG3 of two definitions that race for a name in two processes one wins", func(s *stage) {
		s.look()
		other := s.store.Open(s.t, World{})
		var wg sync.WaitGroup
		refs, errs := make([]api.AgentReference, 16), make([]error, 16)
		for i := range refs {
			p := []api.Service{s, other}[i%2]
			wg.Go(func() {
				refs[i], errs[i] = p.RegisterAgent(s.Context(), "", definition(World{}, func(d *api.AgentDefinition) { d.Instructions = fmt.Sprint(i / 8) }))
			})
		}
		wg.Wait()
		digests := map[string]int{}
		for i, err := range errs {
			if err == nil {
				digests[refs[i].Digest]++
				continue
			}
			s.code(err, api.CodeDefinitionConflict)
		}
		if len(digests) != 1 || digests[refs[slices.Index(errs, nil)].Digest] != 8 {
			s.Fatalf("won: %v", digests)
		}
	}},
	{"AG3 names are unique for an owner and not across owners", func(s *stage) {
		s.open(World{})
		ref, err := s.RegisterAgent(s.Context(), "ann", definition(World{}, func(d *api.AgentDefinition) { d.Instructions = "Ann's." }))
		s.no(err)
		if ref.Digest == s.agent.Digest {
			s.Fatal("two definitions have one digest")
		}
		page, err := s.Agents(s.Context(), api.AgentQuery{Owner: "ann"})
		s.no(err)
		if len(page.Agents) != 1 || page.Agents[0].Instructions != "Ann's." {
			s.Fatalf("ann has %+v", page.Agents)
		}
	}},
	{"AG3 AG5 a definition that breaks a rule is refused with the rule's code and stores nothing", func(s *stage) {
		s.look()
		long := strings.Repeat("n", api.MaxNameBytes)
		declare := func(names ...string) func(*api.AgentDefinition) {
			return func(d *api.AgentDefinition) {
				for _, n := range names {
					d.Tools = append(d.Tools, action(n, "", nil).ToolDeclaration)
				}
			}
		}
		for _, tt := range []struct {
			name   string
			change func(*api.AgentDefinition)
			want   api.Code
		}{
			{"no name", func(d *api.AgentDefinition) { d.Name = "" }, api.CodeInvalidAgent},
			{"a name of one byte too many", func(d *api.AgentDefinition) { d.Name = long + "n" }, api.CodeInvalidAgent},
			{"a name that begins with a dot", func(d *api.AgentDefinition) { d.Name = ".a" }, api.CodeInvalidAgent},
			{"a name with a NUL", func(d *api.AgentDefinition) { d.Name = "a\x00" }, api.CodeInvalidAgent},
			{"instructions that are not UTF-8", func(d *api.AgentDefinition) { d.Instructions = "\xff" }, api.CodeInvalidAgent},
			{"instructions of one byte too many", func(d *api.AgentDefinition) {
				d.Instructions = strings.Repeat("x", api.MaxInstructionsBytes+1)
			}, api.CodeInvalidAgent},
			{"an unknown provider", func(d *api.AgentDefinition) { d.DefaultModel.Provider = "Nobody" }, api.CodeUnknownProvider},
			{"no model", func(d *api.AgentDefinition) { d.DefaultModel = api.ModelRef{} }, api.CodeInvalidRequest},
			{"two tools of one name to the model", declare("a.b", "a__b"), api.CodeInvalidTool},
			{"a tool with the name of a built-in", declare("read_history"), api.CodeInvalidTool},
			{"a tool name that no provider accepts", declare("ä"), api.CodeInvalidTool},
			{"a tool name of 65 bytes to the model", declare(strings.Repeat("t", 65)), api.CodeInvalidTool},
			{"more tools than are allowed", func(d *api.AgentDefinition) {
				for i := range api.MaxAgentTools + 1 {
					declare(fmt.Sprint("t", i))(d)
				}
			}, api.CodeInvalidAgent},
			{"an unknown approval mode", func(d *api.AgentDefinition) { d.Approvals.Mode = "maybe" }, api.CodeInvalidAgent},
			{"auto without a reviewer", func(d *api.AgentDefinition) { d.Approvals.Mode = api.ApproveAuto }, api.CodeInvalidAgent},
			{"only without tools", func(d *api.AgentDefinition) { d.Approvals = api.Approvals{Mode: api.ApproveOnly} }, api.CodeInvalidAgent},
			{"an unknown rule for unknown outcomes", func(d *api.AgentDefinition) { d.UnknownOutcome = "guess" }, api.CodeInvalidAgent},
			{"a limit of zero", func(d *api.AgentDefinition) { d.Limits.MaxModelCalls = api.Set(0) }, api.CodeInvalidLimits},
			{"a negative limit", func(d *api.AgentDefinition) { d.Limits.SummaryTokens = api.Set(-1) }, api.CodeInvalidLimits},
			{"a reserve as large as the whole", func(d *api.AgentDefinition) { d.Limits.MaxOutputTokens = api.Set(512) }, api.CodeInvalidLimits},
			{"reviewer context of one byte too many", func(d *api.AgentDefinition) {
				d.AutoApproverContext = api.Set(strings.Repeat("x", api.MaxGuidanceBytes+1))
			}, api.CodeInvalidGuidance},
			{"an option that this host lacks", func(d *api.AgentDefinition) { d.Planning = []byte(`true`) }, api.CodeUnsupportedOption},
		} {
			if _, err := s.RegisterAgent(s.Context(), "", definition(World{}, tt.change)); api.CodeOf(err) != tt.want {
				s.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
			}
		}
		page, err := s.Agents(s.Context(), api.AgentQuery{})
		s.no(err)
		if len(page.Agents) != 0 {
			s.Fatalf("registered are %+v", page.Agents)
		}
		_, err = s.RegisterAgent(s.Context(), "", definition(World{}, func(d *api.AgentDefinition) { d.Name = long }))
		s.no(err)
	}},
	{"AG6 a new store is empty and offers what it can do", func(s *stage) {
		s.look()
		ctx := s.Context()
		agents, err := s.Agents(ctx, api.AgentQuery{})
		s.no(err)
		sessions, err := s.Sessions(ctx, api.SessionQuery{})
		s.no(err)
		inbox, err := s.Interactions(ctx, api.InteractionQuery{})
		s.no(err)
		usage, err := s.Usage(ctx, api.UsageQuery{})
		s.no(err)
		if len(agents.Agents)+len(sessions.Sessions)+len(inbox.Interactions)+len(usage) > 0 {
			s.Fatalf("there are %v %v %v %v", agents, sessions, inbox, usage)
		}
		c, err := s.Capabilities(ctx)
		s.no(err)
		if c.Store == "" || c.Version == "" || !slices.Contains(c.Providers, Provider) || !slices.Contains(c.Options, "turn.limits") ||
			!slices.Contains(c.Options, "session.initialHistory") || !slices.Contains(c.Options, "submission.content") || slices.Contains(c.Options, "agent.planning") {
			s.Fatalf("capabilities %+v", c)
		}
	}},
	{"AG7 a tool is told its session, run, call, agent, workspace, origin, owner and metadata", func(s *stage) {
		got := make(chan ToolCall, 1)
		w := World{Model: rounds(calls("app__act"), Answer{Text: "done"}), Tools: []Tool{action("app.act", "", func(_ context.Context, c ToolCall) (string, error) {
			got <- c
			return "", nil
		})}}
		s.open(w)
		ref, err := s.RegisterAgent(s.Context(), "ann", definition(w))
		s.no(err)
		s.agent = ref
		dir := s.TempDir()
		id := s.session(api.SessionOptions{Workspace: dir, Owner: "ann", Metadata: map[string]string{"k": "v"}})
		run := s.send(id, "go")
		s.ends(run, api.StatusCompleted)
		c := <-got
		if c.ID == "" || c.Attempt != 1 || c.Arguments != `{"n":0}` || c.Tool != "app.act" || c.Session != s.reference(id) || c.Run != run.Run || c.Agent != ref ||
			c.Workspace != s.state(id).Workspace || c.Origin != "agent" || c.Owner != "ann" || c.Metadata["k"] != "v" {
			s.Fatalf("the tool was told %+v", c)
		}
	}},
}
