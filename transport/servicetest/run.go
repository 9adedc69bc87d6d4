package servicetest

import (
	"slices"
	"testing"
)

// test is one behaviour. Its name reads as a sentence; it begins with the number of the requirement or of
// the case that it stands for.
type test struct {
	name string
	run  func(s *stage)
}

// Run runs the suite against a host.
func Run(t *testing.T, h Host) {
	tests := slices.Concat(agentTests, sessionTests, listTests, submitTests, inputTests, queueTests, cancelTests, streamTests,
		toolTests, limitTests, providerTests, guidanceTests, approvalTests, orderTests, answerTests, grantTests, reviewTests, questionTests, guardrailTests, hookTests, secretTests, scopeTests, compactionTests, recoveryTests, unknownTests, waitTests,
		contentTests, uploadTests, boundTests, repeatTests, fileGuardTests, fileKindTests, fileContextTests, importTests, importRuleTests)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			body := func(t *testing.T) {
				s := &stage{TB: t, t: t, store: h.New(t)}
				tt.run(s)
				s.audit()
			}
			if h.Around == nil {
				body(t)
				return
			}
			h.Around(t, body)
		})
	}
}
