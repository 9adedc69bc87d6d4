package main

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/cmd/openworker/internal/document"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/guard/sensitive"
)

// sensitiveGuard is the name of the guardrail that the program has.
const sensitiveGuard = "sensitive"

// guardrails are those that agents and --guardrail may name. The rules of sensitive are read when it looks at a text
// first, since most commands never do.
func guardrails() []openworker.Guardrail {
	made := sync.OnceValues(func() (guard.Guardrail, error) { return sensitive.New(sensitive.Config{Name: sensitiveGuard}) })
	return []openworker.Guardrail{{
		Name:   sensitiveGuard,
		Points: guard.Points(),
		Check: func(ctx context.Context, unit guard.Unit) (guard.Verdict, error) {
			g, err := made()
			if err != nil {
				return guard.Verdict{}, err
			}
			return g.Check(ctx, unit)
		},
	}}
}

// guardrailNames are their names.
func guardrailNames() (names []string) {
	for _, g := range guardrails() {
		names = append(names, g.Name)
	}
	return names
}

// checkGuardrails refuses names of --guardrail that are none.
func checkGuardrails(given []string) error {
	known := guardrailNames()
	for n, name := range given {
		switch near := document.Nearest(name, known); {
		case slices.Contains(given[:n], name):
			return misused("--guardrail %s is given twice", name)
		case slices.Contains(known, name):
		case near != "":
			return misused("there is no guardrail %q; did you mean %q?", name, near)
		default:
			return misused("there is no guardrail %q; there are %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}
