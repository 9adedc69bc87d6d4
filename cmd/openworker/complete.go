package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
)

// maxCompletions is how many sessions a shell is offered.
const maxCompletions = 50

// words are what a shell may be offered, each with a tab and a description behind it, or nothing.
type words func(ctx context.Context) []string

// completeOne completes the first argument.
func (m *Main) completeOne(list words) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return continuing(typed, list(cmd.Context())), cobra.ShellCompDirectiveNoFileComp
	}
}

// continuing are the words that go on with what is typed.
func continuing(typed string, all []string) []string {
	return slices.DeleteFunc(all, func(word string) bool { return !strings.HasPrefix(word, typed) })
}

// completeEach completes any number of arguments.
func (m *Main) completeEach(list words) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return continuing(typed, list(cmd.Context())), cobra.ShellCompDirectiveNoFileComp
	}
}

func yamlFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

// reading opens the store for a completion, which says nothing about what is wrong.
func (m *Main) reading(ctx context.Context, do func(*openworker.Harness)) {
	if h, err := m.openToRead(ctx); err == nil {
		do(h)
		_ = h.Close(ctx) // only read
	}
}

// sessionIDs are the sessions with the newest activity.
func (m *Main) sessionIDs(ctx context.Context) (ids []string) {
	m.reading(ctx, func(h *openworker.Harness) {
		page, err := h.Service().Sessions(ctx, api.SessionQuery{Limit: maxCompletions})
		if err != nil {
			return
		}
		for _, info := range page.Sessions {
			first, err := firstMessage(ctx, h, info)
			if err == nil && first != "" {
				ids = append(ids, fmt.Sprintf("%s\t%s, %s", info.Reference.Session, info.Activity, "“"+first+"”"))
			}
		}
	})
	return ids
}

// interactionIDs are the interactions that wait for an answer.
func (m *Main) interactionIDs(ctx context.Context) (ids []string) {
	m.reading(ctx, func(h *openworker.Harness) {
		page, err := h.Service().Interactions(ctx, api.InteractionQuery{Limit: maxCompletions})
		if err != nil {
			return
		}
		for _, open := range page.Interactions {
			ids = append(ids, open.ID+"\t"+question(open.Interaction))
		}
	})
	return ids
}

// agentNames are the agents of the store.
func (m *Main) agentNames(ctx context.Context) (names []string) {
	m.reading(ctx, func(h *openworker.Harness) {
		_ = eachAgent(ctx, h, func(def api.AgentDefinition) {
			names = append(names, def.Name+"\t"+def.DefaultModel.String())
		})
	})
	return names
}

// providerNames are all providers.
func (m *Main) providerNames(context.Context) []string {
	cfg, err := m.configuration()
	if err != nil {
		return nil
	}
	return cfg.Names()
}

// modelNames are the models that are known without asking a server, and each provider with a slash.
func (m *Main) modelNames(context.Context) (names []string) {
	cfg, err := m.configuration()
	if err != nil {
		return nil
	}
	for _, p := range cfg.Providers {
		names = append(names, p.Name+"/")
		if p.Standard != "" {
			names = append(names, p.Name+"/"+p.Standard)
		}
		for _, model := range p.Models {
			names = append(names, p.Name+"/"+model)
		}
	}
	return names
}

// completeFlags completes the flags of the commands that talk.
func (m *Main) completeFlags(cmd *cobra.Command) {
	for name, complete := range map[string]cobra.CompletionFunc{
		"session": m.completeEach(m.sessionIDs),
		"model": func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			directive := cobra.ShellCompDirectiveNoFileComp
			if !strings.Contains(typed, "/") {
				directive |= cobra.ShellCompDirectiveNoSpace
			}
			return continuing(typed, m.modelNames(cmd.Context())), directive
		},
		"agent": func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return continuing(typed, m.agentNames(cmd.Context())), cobra.ShellCompDirectiveDefault // files as well
		},
		"guardrail": cobra.FixedCompletions(guardrailNames(), cobra.ShellCompDirectiveNoFileComp),
		"approve":   cobra.FixedCompletions([]string{"always", "never"}, cobra.ShellCompDirectiveNoFileComp),
	} {
		if cmd.Flags().Lookup(name) != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, complete) // it fails only for a flag that is not there
		}
	}
}

// completionCommand dresses cobra's own command like the others.
func completionCommand(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		cmd.Short = "Print the completion script for a shell"
		cmd.Long = `Prints a script that lets a shell complete commands, flags, sessions, agents and
models: bash, zsh, fish or powershell. openworker completion SHELL --help says
how to load it.`
		cmd.Example = `  source <(openworker completion bash)
  openworker completion zsh > "${fpath[1]}/_openworker"
  openworker completion fish | source`
	}
}
