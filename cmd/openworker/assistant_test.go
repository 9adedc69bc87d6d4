package main

import (
	"strings"
	"testing"
	"time"

	"github.com/openworkerai/openworker"
)

func TestTools(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	byName := map[string]openworker.Tool{}
	for _, tool := range tools(func() time.Time { return noon }) {
		if d := tool.Declaration(); d.Effect != openworker.ReadOnly {
			t.Errorf("%s is not read-only, and it runs without asking", d.Name)
		} else {
			byName[d.Name] = tool
		}
	}
	tests := []struct{ tool, arguments, want, err string }{
		{"current_time", `{}`, "Wednesday, 1 July 2026, 12:00:00 UTC (+00:00)", ""},
		{"current_time", `{"zone":"Asia/Tokyo"}`, "Wednesday, 1 July 2026, 21:00:00 JST (+09:00)", ""},
		{"current_time", `{"zone":"../etc/passwd"}`, "", "no time zone"},
		{"calculate", `{"expression":"(17 + 4) * 3 / 2.0"}`, "31.5", ""},
		{"calculate", `{"expression":"7/2"}`, "3", ""},
		{"calculate", `{"expression":"1<<70"}`, "1180591620717411303424", ""},
		{"calculate", `{"expression":"1/0"}`, "", "division by zero"},
		{"calculate", `{"expression":"1<<(1<<40)"}`, "", "cannot be worked out"},
		{"calculate", `{"expression":"func(){}"}`, "", "is not a number"},
		{"calculate", `{"expression":"os.Exit(1)"}`, "", "cannot be worked out"},
		{"calculate", `{"expression":"` + strings.Repeat("1+", 300) + `1"}`, "", "at most 500"},
	}
	for _, tt := range tests {
		t.Run(tt.tool+tt.arguments, func(t *testing.T) {
			t.Parallel()
			got, err := byName[tt.tool].Run(t.Context(), openworker.ToolCall{Arguments: []byte(tt.arguments)})
			if got != tt.want || (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}
