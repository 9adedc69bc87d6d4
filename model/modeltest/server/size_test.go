package modeltestserver

import "testing"

func TestABodyIsRefusedFromTheBoundOn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		protocol Protocol
		bound    int
	}{"Anthropic": {Messages, 32_000_000}, "Google": {Gemini, 100_000_000}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := checkSize(test.protocol, test.bound); err != nil {
				t.Errorf("at the bound: %v", err)
			}
			if err := checkSize(test.protocol, test.bound+1); err == nil {
				t.Error("one byte more is taken")
			}
		})
	}
	for _, protocol := range []Protocol{Chat, Responses} {
		if err := checkSize(protocol, 1<<30); err != nil {
			t.Errorf("%s: %v", protocol, err)
		}
	}
}
