package content

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/openaichat"
)

// bounds are those of files alone.
func bounds(f model.Facts) model.Facts {
	return model.Facts{MaxImageBytes: f.MaxImageBytes, MaxPDFBytes: f.MaxPDFBytes, MaxFilesBytes: f.MaxFilesBytes, MaxImageSide: f.MaxImageSide, ManyImages: f.ManyImages, MaxImageSideMany: f.MaxImageSideMany}
}

// AT4: a maker's bounds for files hold for each of its models, those that are not known included. A server that only
// speaks a protocol has none that are known.
func TestEachAdapterTellsItsMakersBoundsForFiles(t *testing.T) {
	t.Parallel()
	want := map[string]model.Facts{
		"OpenAI":    {MaxPDFBytes: 50_000_000, MaxFilesBytes: 50_000_000},
		"Anthropic": {MaxImageBytes: 5_242_880, MaxImageSide: 8000, ManyImages: 20, MaxImageSideMany: 2000, MaxFilesBytes: 21_000_000},
		"Google":    {MaxPDFBytes: 50_000_000, MaxFilesBytes: 72_000_000},
		"Chat":      {},
	}
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			provider, err := s.open(http.DefaultClient)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{s.model, "of-next-year"} {
				known, ok := provider.Facts(name)
				if diff := cmp.Diff(want[s.name], bounds(known)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
				if wanted := name == s.model && s.name != "Chat"; ok != wanted {
					t.Errorf("%s: ok is %v", name, ok)
				}
			}
		})
	}
}

// A host knows its own server: what it configures of a model is all that counts.
func TestConfiguredFactsReplaceTheKnownOnes(t *testing.T) {
	t.Parallel()
	own := model.Facts{Window: 8192, MaxImageBytes: 1 << 20}
	provider, err := openaichat.New(openaichat.Config{BaseURL: "http://model.test/v1", Facts: map[string]model.Facts{"own": own}})
	if err != nil {
		t.Fatal(err)
	}
	if known, ok := provider.Facts("own"); !ok || !cmp.Equal(known, own) {
		t.Errorf("got %+v, %v", known, ok)
	}
	if known, ok := provider.Facts("gpt-0"); ok || known.MaxPDFBytes != 50_000_000 { // the name defaults to OpenAI
		t.Errorf("got %+v, %v of a model that is not configured", known, ok)
	}
}
