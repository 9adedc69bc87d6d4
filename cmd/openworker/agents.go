package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/agentfile"
	"github.com/openworkerai/openworker/cmd/openworker/internal/config"
	"github.com/openworkerai/openworker/cmd/openworker/internal/document"
	"github.com/openworkerai/openworker/internal/definition"
)

func (m *Main) agentsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "agents",
		Short: "List the agents in the store, show one, check agent files",
		Long: `Lists the agents that are registered in the state directory: name, model, tools,
and how its definition's digest begins. An agent comes there with its first
session and never changes. What it needs and openworker does not have, a tool, a
guardrail or a hook, is told: only a program that has it runs its sessions.`,
		Example: `  openworker agents
  openworker agents show reviewer > reviewer.yaml
  openworker agents check *.yaml`,
		Args: cobra.NoArgs,
		RunE: m.begin(func(ctx context.Context, _ []string) (err error) {
			h, err := m.openToRead(ctx)
			if err != nil {
				return err
			}
			defer closeAfter(h, &err)
			out := bufio.NewWriter(m.Stdout)
			list := table{head: []string{"name", "model", "tools", "digest"}, dim: 3}
			err = eachAgent(ctx, h, func(def api.AgentDefinition) {
				names := []string{}
				for _, t := range def.Tools {
					names = append(names, t.Name)
				}
				digest := definition.Digest(def)
				if m.json {
					m.printJSON(out, struct {
						Name         string              `json:"name"`
						Digest       string              `json:"digest"`
						DefaultModel openworker.ModelRef `json:"defaultModel"`
						Tools        []string            `json:"tools"`
						Missing      []string            `json:"missing,omitempty"` // here
					}{def.Name, digest, def.DefaultModel, names, missing(def)})
					return
				}
				if len(names) == 0 {
					names = []string{"no tools"}
				}
				if lacking := missing(def); len(lacking) > 0 {
					names = append(names, "(missing here: "+strings.Join(lacking, ", ")+")")
				}
				list.add(def.Name, def.DefaultModel.String(), strings.Join(names, ", "), digest[:12])
			})
			if err != nil {
				return err
			}
			list.print(out, m.Terminal, m.paint())
			if len(list.rows) == 0 {
				m.note("no agent is registered yet; the first session of one registers it")
			}
			return out.Flush()
		}),
	}
	listToo(cmd)
	cmd.AddCommand(m.agentsShowCommand(), m.agentsCheckCommand())
	return cmd
}

func (m *Main) agentsShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Print an agent as the file that --agent reads",
		Long: `Prints an agent of the store as the YAML file that --agent reads back as the
same agent; with --json its whole definition.`,
		Example: `  openworker agents show reviewer > reviewer.yaml
  openworker agents show reviewer --json`,
		Args:              one,
		ValidArgsFunction: m.completeOne(m.agentNames),
		RunE: m.begin(func(ctx context.Context, args []string) error {
			def, err := m.storedAgent(ctx, args[0])
			if err != nil {
				return err
			}
			if m.json {
				m.printJSON(m.Stdout, struct {
					api.AgentDefinition
					Digest string `json:"digest"`
				}{def, definition.Digest(def)})
				return nil
			}
			_, err = m.Stdout.Write(agentfile.Write(def))
			return err
		}),
	}
}

// checked is an agent file as agents check --json tells of it.
type checked struct {
	File   string           `json:"file"`
	OK     bool             `json:"ok"`
	Agent  string           `json:"agent,omitempty"`
	Digest string           `json:"digest,omitempty"`
	Error  *api.Error       `json:"error,omitempty"`
	Faults []document.Fault `json:"faults,omitempty"`
}

func (m *Main) agentsCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE…",
		Short: "Check agent files",
		Long: `Checks agent files, and tells all that is wrong in each with its line and
column. Nothing is registered. The exit code is 1 if anything is wrong.`,
		Example: `  openworker agents check reviewer.yaml
  openworker agents check --json agents/*.yaml`,
		Args:              some,
		ValidArgsFunction: yamlFiles,
		RunE: m.begin(func(_ context.Context, files []string) error {
			cfg, err := m.configuration()
			if err != nil {
				return err
			}
			wrong := false
			for _, file := range files {
				def, err := agentfile.Read(file, agentHost(cfg))
				wrong = wrong || err != nil
				m.tellChecked(file, def, err)
			}
			if wrong {
				return exitStatus(exitFailure)
			}
			return nil
		}),
	}
}

func (m *Main) tellChecked(file string, def api.AgentDefinition, err error) {
	switch {
	case m.json && err != nil:
		c := checked{File: file, Error: api.AsError(err)}
		if faults := agentfile.Faults(err); faults != nil {
			c.Faults = faults.List
		}
		m.printJSON(m.Stdout, c)
	case m.json:
		m.printJSON(m.Stdout, checked{File: file, OK: true, Agent: def.Name, Digest: definition.Digest(def)})
	case err != nil:
		fmt.Fprintf(m.Stdout, "%s %s\n", m.paint().red("✗"), printable(strings.ReplaceAll(api.AsError(err).Message, "\n", "\n✗ ")))
	default:
		fmt.Fprintf(m.Stdout, "✓ %s: the agent %s on %s\n", printable(file), def.Name, printable(def.DefaultModel.String()))
	}
}

// agentHost is what an agent file may name here.
func agentHost(cfg *config.Config) agentfile.Host {
	host := agentfile.Host{Providers: append(cfg.Names(), offlineProvider), Guardrails: guardrailNames()}
	for _, t := range tools(time.Now) {
		host.Tools = append(host.Tools, t.Declaration())
	}
	return host
}

// isFile tells a file of --agent from the name of an agent: no name of a file ending or of a directory is an agent's.
func isFile(agent string) bool {
	return strings.ContainsAny(agent, `/\`) || strings.HasSuffix(agent, ".yaml") || strings.HasSuffix(agent, ".yml")
}

// settle decides on the model and the agent of a command that talks.
func (m *Main) settle(ctx context.Context, s settings, before openworker.SessionState) (choice, openworker.AgentDefinition, error) {
	if s.session != "" {
		c, err := m.sessionChoice(ctx, s, before)
		return c, openworker.AgentDefinition{}, err
	}
	if s.agent == "" {
		c, err := m.choose(ctx, s.model)
		if err != nil {
			return c, openworker.AgentDefinition{}, err
		}
		def, err := s.definition(c.model)
		return c, def, err
	}
	def, err := m.namedAgent(ctx, s.agent)
	if err != nil {
		return choice{}, openworker.AgentDefinition{}, err
	}
	m.agent = def.Name
	want := asked{name: s.model, by: "--model"}
	if s.model == "" {
		want = asked{ref: def.DefaultModel, by: "the agent " + def.Name}
	}
	c, err := m.chooseAsked(ctx, want)
	if err != nil {
		return c, openworker.AgentDefinition{}, err
	}
	bound, err := withTools(def)
	return c, bound, err
}

// sessionChoice is the model for a session: its own, unless --model or OPENWORKER_MODEL names another.
func (m *Main) sessionChoice(ctx context.Context, s settings, before openworker.SessionState) (c choice, err error) {
	if c, err = m.choices(ctx); err != nil {
		return c, err
	}
	if s.model != "" || c.config.ModelFrom == "OPENWORKER_MODEL" {
		return m.choose(ctx, s.model)
	}
	if m.chosen, err = c.settleOnSession(before.Session, before.Model); api.CodeOf(err) == api.CodeRegistrationMissing {
		err = advised{err, m.wayToConfigure() + " and run " + m.again(before.Session) + " again"}
	}
	return m.chosen, err
}

func (m *Main) namedAgent(ctx context.Context, agent string) (api.AgentDefinition, error) {
	if !isFile(agent) {
		return m.storedAgent(ctx, agent)
	}
	cfg, err := m.configuration()
	if err != nil {
		return api.AgentDefinition{}, err
	}
	return agentfile.Read(agent, agentHost(cfg))
}

// storedAgent finds an agent of the store.
func (m *Main) storedAgent(ctx context.Context, name string) (found api.AgentDefinition, err error) {
	h, err := m.openToRead(ctx)
	if err != nil {
		return found, err
	}
	defer closeAfter(h, &err)
	err = eachAgent(ctx, h, func(def api.AgentDefinition) {
		if def.Name == name {
			found = def
		}
	})
	if err == nil && found.Name == "" {
		err = api.Errorf(api.CodeAgentNotFound, "no agent %q is in this store; a file is named with its ending or its directory: %s.yaml, ./%s", name, name, name)
	}
	return found, err
}

func eachAgent(ctx context.Context, h *openworker.Harness, do func(api.AgentDefinition)) error {
	for query := (api.AgentQuery{Limit: api.MaxPage}); ; {
		page, err := h.Service().Agents(ctx, query)
		if err != nil {
			return err
		}
		for _, def := range page.Agents {
			do(def)
		}
		if query.Cursor = page.Next; query.Cursor == "" {
			return nil
		}
	}
}

// withTools gives a definition the bodies of its tools.
func withTools(def api.AgentDefinition) (openworker.AgentDefinition, error) {
	bound := openworker.AgentDefinition{
		Name: def.Name, Instructions: def.Instructions, Approvals: def.Approvals, DefaultModel: def.DefaultModel, Limits: def.Limits,
		BuiltinTools: def.BuiltinTools, UnknownOutcome: def.UnknownOutcome, AutoSkipQuestions: def.AutoSkipQuestions,
		AutoApproverContext: def.AutoApproverContext, Compaction: def.Compaction, Guardrails: def.Guardrails, Hooks: def.Hooks,
	}
	if lacking := missing(def); len(lacking) > 0 {
		return bound, advised{api.Errorf(api.CodeRegistrationMissing, "the agent %s needs %s, which openworker does not have", def.Name, these(lacking)),
			"only a program that has " + these(lacking) + " runs it"}
	}
	own := map[string]openworker.Tool{}
	for _, t := range tools(time.Now) {
		own[t.Declaration().Name] = t
	}
	for _, d := range def.Tools {
		bound.Tools = append(bound.Tools, own[d.Name])
	}
	return bound, nil
}
