package service_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/service"
	"github.com/openworkerai/openworker/internal/suitehost"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/scripted"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/store/memstore"
)

// echoing is a provider that says what it was sent when it fails.
type echoing struct {
	*scripted.Provider
	fail func(what string) error // nil: it works
}

func (e *echoing) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	if e.fail != nil {
		return model.Response{}, e.fail(base64.StdEncoding.EncodeToString(req.Items[0].Parts[1].Data))
	}
	return e.Provider.Stream(ctx, req, emit)
}

// AT6: a provider whose error or panic has a file in it makes no event, no result and no log of that.
func TestAProviderThatQuotesAFileTellsNobody(t *testing.T) {
	t.Parallel()
	refused := func(kind model.ErrorKind, format string) func(string) error {
		return func(file string) error { return &model.Error{Kind: kind, Message: fmt.Sprintf(format, file)} }
	}
	for name, test := range map[string]struct {
		fail func(string) error
		says string
	}{
		"in a refusal, as a data URL": {refused(model.KindRefused, "invalid image_url: data:image/png;base64,%s"), "invalid image_url: [left out"},
		"in a refusal, as base64":     {refused(model.KindRefused, "cannot decode %s at 7"), "at 7"},
		"in what is tried again":      {refused(model.KindOverloaded, "busy with %s"), "busy with [left out"},
		"in what is too large":        {refused(model.KindTooLarge, "too much: %s"), "too much: [left out"},
		"in an error of its own kind": {func(file string) error { return fmt.Errorf("sending %s: broken pipe", file) }, "broken pipe"},
		"in a panic":                  {func(file string) error { panic("cannot decode " + file) }, "panicked with a value of type string"},
		"in a panic with an error":    {func(file string) error { panic(fmt.Errorf("cannot decode %s", file)) }, "panicked with a value of type *errors.errorString"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { quoting(t, test.fail, test.says) })
		})
	}
}

func quoting(t *testing.T, fail func(string) error, says string) {
	log := &spilled{}
	st := memstore.New(memstore.Config{})
	p := &echoing{Provider: scripted.New(scripted.Config{}), fail: fail}
	s, err := service.New(t.Context(), service.Config{Store: st, ScratchDir: t.TempDir(), Providers: []model.Provider{p}, Clock: suitehost.Clock(),
		Logger: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	defer ended(t, s)
	h := &host{Service: s, t: t, store: st}
	if h.agent, err = s.RegisterAgent(t.Context(), "", api.AgentDefinition{Name: "a", DefaultModel: api.ModelRef{Provider: p.Name(), Name: "m"}}); err != nil {
		t.Fatal(err)
	}
	id := h.session()
	run, err := h.deliver(id, api.TurnOptions{}, api.TextBlock("look"), note(strings.Repeat(mark, 4)).inline())
	if err != nil {
		t.Fatal(err)
	}
	r := h.result(run)
	if r.Status != api.StatusFailed || !strings.Contains(r.Error.Message, says) {
		t.Errorf("the turn is %s, %+v; want words of %q", r.Status, r.Error, says)
	}
	events, err := s.Events(t.Context(), api.EventQuery{Session: id})
	if err != nil {
		t.Fatal(err)
	}
	records, err := st.Records(t.Context(), store.RecordQuery{Session: id})
	if err != nil {
		t.Fatal(err)
	}
	out := plain(t, r) + log.String()
	for _, e := range events.Events {
		out += string(e.Data)
	}
	for _, rec := range records {
		out += string(rec.Data)
	}
	for _, m := range marks() {
		if at := strings.Index(out, m); at >= 0 {
			t.Errorf("it has come out as %q: %.300q", m, out[max(at-100, 0):])
		}
	}
}
