package facts_test

import (
	"encoding/base64"
	"flag"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"
	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/facts"
)

var update = flag.Bool("update", false, "write facts.tsv from the catwalk that go.mod names")

// makers are the providers that make the models they serve, whose entries state the real maximum. A gateway's
// entry is often a tenth of the window, Moonshot's and Z.ai's is half of it or a default: nobody's maximum.
var makers = map[catwalk.InferenceProvider]bool{
	catwalk.InferenceProviderOpenAI: true, catwalk.InferenceProviderAnthropic: true, catwalk.InferenceProviderGemini: true,
	catwalk.InferenceProviderDeepSeek: true,
}

// maxima are maximum outputs of the makers' models where catwalk's default is lower than what the maker documents.
var maxima = map[string]int64{
	"openai/gpt-4o": 16_384, "openai/gpt-4o-mini": 16_384,
	"openai/gpt-4.1": 32_768, "openai/gpt-4.1-mini": 32_768, "openai/gpt-4.1-nano": 32_768,
	"openai/o3": 100_000, "openai/o3-mini": 100_000, "openai/o4-mini": 100_000,
	"gemini/gemini-2.5-pro": 65_536, "gemini/gemini-2.5-flash": 65_536, "gemini/gemini-3-flash-preview": 65_536,
	"gemini/gemini-3-pro-preview": 65_536, "gemini/gemini-3.5-flash": 65_536, "gemini/gemini-3.1-pro-preview-customtools": 65_536,
}

func maximum(provider catwalk.InferenceProvider, m catwalk.Model) int64 {
	if known, ok := maxima[string(provider)+"/"+m.ID]; ok {
		return known
	}
	if !makers[provider] || m.DefaultMaxTokens >= m.ContextWindow {
		return 0
	}
	return m.DefaultMaxTokens
}

func render(t *testing.T) string {
	var lines []string
	for _, provider := range embedded.GetAll() {
		for _, m := range provider.Models {
			if strings.ContainsAny(m.ID, "\t\n") || m.ID == "" {
				t.Fatalf("provider %s has a model named %q", provider.ID, m.ID)
			}
			image := ""
			if m.SupportsImages {
				image = "image"
			}
			lines = append(lines, fmt.Sprintf("%s\t%s\t%d\t%d\t%s\n", provider.ID, m.ID, m.ContextWindow, maximum(provider.ID, m), image))
		}
	}
	sort.Strings(lines)
	return "\n" + strings.Join(lines, "")
}

func TestTheTableIsThatOfTheCatwalkInUse(t *testing.T) {
	t.Parallel()
	want := render(t)
	if *update {
		if err := os.WriteFile("facts.tsv", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("facts.tsv")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("facts.tsv is not up to date, run with -update (-want +got):\n%s", diff)
	}
}

func TestEveryModelOfTheTableIsFound(t *testing.T) {
	t.Parallel()
	for _, provider := range embedded.GetAll() {
		for _, m := range provider.Models {
			got, ok := facts.Lookup(string(provider.ID), m.ID)
			if !ok || got.Window != int(m.ContextWindow) {
				t.Errorf("%s %s: got %+v, %v, want a window of %d", provider.ID, m.ID, got, ok, m.ContextWindow)
			}
		}
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	images := []string{"image/png", "image/jpeg", "image/gif", "image/webp"}
	withPDF := append(slices.Clone(images), "application/pdf")
	openai := model.Facts{MaxPDFBytes: 50_000_000, MaxFilesBytes: 50_000_000}
	anthropic := model.Facts{MaxImageBytes: 5_242_880, MaxImageSide: 8000, ManyImages: 20, MaxImageSideMany: 2000, MaxFilesBytes: 21_000_000}
	google := model.Facts{MaxPDFBytes: 50_000_000, MaxFilesBytes: 72_000_000, Refused: []string{"image/gif"}}
	withoutGIF := []string{"image/png", "image/jpeg", "image/webp", "application/pdf"}
	// of is what is known of a maker's model that takes formats.
	of := func(maker model.Facts, window, output int, formats []string) model.Facts {
		maker.Window, maker.MaxOutputTokens, maker.Formats = window, output, formats
		return maker
	}
	blind := of(openai, 200_000, 100_000, nil)
	blind.Refused = withPDF
	for name, test := range map[string]struct {
		provider, model string
		want            model.Facts
		ok              bool
	}{
		"a known model":                     {"OpenAI", "gpt-4o", of(openai, 128_000, 16_384, withPDF), true},
		"the provider without its case":     {"openAI", "o3-mini", blind, true},
		"Google by our name":                {"Google", "gemini-2.5-pro", of(google, 1_048_576, 65_536, withoutGIF), true},
		"a gateway's maximum is not known":  {"groq", "qwen/qwen3-32b", model.Facts{Window: 131_072, Refused: images}, true},
		"a default is no maximum":           {"zai", "glm-4.6", model.Facts{Window: 204_800, Refused: images}, true},
		"a gateway's PDFs are not known":    {"openrouter", "google/gemini-2.5-pro", model.Facts{Window: 1_048_576, Formats: images}, true},
		"a release by its date":             {"OpenAI", "gpt-4o-2024-08-06", of(openai, 128_000, 16_384, withPDF), true},
		"the newest release":                {"OpenAI", "gpt-4o-latest", of(openai, 128_000, 16_384, withPDF), true},
		"a release without its date":        {"Anthropic", "claude-opus-4-5", of(anthropic, 200_000, 64_000, withPDF), true},
		"the newest of a dated release":     {"Anthropic", "claude-opus-4-5-latest", of(anthropic, 200_000, 64_000, withPDF), true},
		"a version of which dates are left": {"Anthropic", "claude-opus-4-1-2025", anthropic, false},
		"a part of a version":               {"Anthropic", "claude-opus", anthropic, false},
		"a date of an unknown model":        {"OpenAI", "gpt-0-2024-08-06", openai, false},
		"an unknown model":                  {"OpenAI", "gpt-0", openai, false},
		"the beginning of a model's name":   {"OpenAI", "gpt-", openai, false},
		"an unknown model of Google":        {"Google", "gemini-0", google, false},
		"an unknown provider":               {"Nobody", "gpt-4o", model.Facts{}, false},
		"no model":                          {"OpenAI", "", model.Facts{}, false},
		"a name that holds the table's own": {"OpenAI", "gpt-4o\t128000", model.Facts{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := facts.Lookup(test.provider, test.model)
			if diff := cmp.Diff(test.want, got); diff != "" || ok != test.ok {
				t.Errorf("ok is %v, facts (-want +got):\n%s", ok, diff)
			}
		})
	}
}

// A conversation that fills a window, with files up to the bound in base64, is a request that its maker takes.
func TestFilesAtTheBoundFitARequest(t *testing.T) {
	t.Parallel()
	for maker, request := range map[string]int64{"Anthropic": 32_000_000, "Google": 100_000_000} {
		t.Run(maker, func(t *testing.T) {
			t.Parallel()
			known, _ := facts.Lookup(maker, "any")
			encoded := func(n int64) int64 { return int64(base64.StdEncoding.EncodedLen(int(n))) }
			if got := encoded(known.MaxFilesBytes) + 4_000_000; got > request || encoded(known.MaxFilesBytes+3)+4_000_000 <= request {
				t.Errorf("a request of files at the bound has %d bytes, the maker takes %d", got, request)
			}
		})
	}
}

func BenchmarkLookup(b *testing.B) {
	for b.Loop() {
		facts.Lookup("zhipu", "no-such-model")
	}
}
