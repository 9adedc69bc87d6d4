package engine

import (
	"math"

	"github.com/openworkerai/openworker/api"
)

func (s *State) charge(t *Turn, u api.Usage) {
	t.Usage = t.Usage.Add(u)
	t.Output += int(min(max(u.OutputTokens, 0), math.MaxInt32)) // no figure of a provider raises the budget
	s.Usage = s.Usage.Add(u)
}

// chargeAside counts what a reviewer or a summary used: it is no part of the turn's budget (LI6).
func (s *State) chargeAside(t *Turn, u api.Usage) {
	t.Usage, t.Auxiliary, s.Usage = t.Usage.Add(u), t.Auxiliary.Add(u), s.Usage.Add(u)
}
