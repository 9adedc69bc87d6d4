package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

const (
	maxListBytes = 8 << 20
	maxPages     = 20
)

// ListError says why a server's list of models could not be had.
type ListError struct {
	// Status is what the server answered, 0 if it could not be reached.
	Status int
	Err    error
}

func (e *ListError) Error() string {
	if e.Status != 0 && e.Err == nil {
		return fmt.Sprintf("HTTP %d", e.Status)
	}
	var failed *url.Error
	if errors.Is(e.Err, context.DeadlineExceeded) {
		return "no answer came in time"
	}
	if errors.As(e.Err, &failed) { // without the address, which whoever tells it names
		return failed.Err.Error()
	}
	return e.Err.Error()
}

func (e *ListError) Unwrap() error { return e.Err }

// List asks a provider's server for its models with the provider's key, if it has one. ctx bounds it. Every error is a
// *ListError.
func (c *Config) List(ctx context.Context, p Provider) ([]string, error) {
	key, _, err := c.Key(ctx, p)
	if err != nil {
		return nil, &ListError{Err: err}
	}
	return p.List(ctx, c.transport, key)
}

// Elsewhere is the address at which the provider's server answers if that is only the provider's own with the version
// that its protocol wants in it, or without the one that it does not want; "" if nothing answers there either. A
// server that asks for a key answers. ctx bounds it.
func (c *Config) Elsewhere(ctx context.Context, p Provider) string {
	switch base, versioned := strings.CutSuffix(p.BaseURL, "/v1"); {
	case versioned:
		p.BaseURL = base
	case p.Protocol == OpenAIChat || p.Protocol == OpenAIResponses:
		p.BaseURL += "/v1"
	default:
		p.BaseURL = strings.TrimSuffix(p.BaseURL, "/v1beta")
	}
	var failed *ListError
	_, err := c.List(ctx, p)
	if err != nil && (!errors.As(err, &failed) || failed.Status != http.StatusUnauthorized) {
		return ""
	}
	return p.BaseURL
}

// List asks the provider's server for its models, in its order. ctx bounds it; via carries it, and nil is a transport
// of its own. Every error is a *ListError.
func (p Provider) List(ctx context.Context, via http.RoundTripper, key string) ([]string, error) {
	if via == nil {
		via = &http.Transport{DisableKeepAlives: true} // no proxy, like the adapters
	}
	client := &http.Client{
		Transport:     via,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var names []string
	after := ""
	for range maxPages {
		page, next, err := p.page(ctx, client, key, after)
		if err != nil {
			return nil, err
		}
		names = append(names, page...)
		if next == "" {
			break
		}
		after = next
	}
	return names, nil
}

// ListAddress is where the provider's server lists its models.
func (p Provider) ListAddress() string {
	switch p.Protocol {
	case Anthropic:
		return p.BaseURL + "/v1/models"
	case Google:
		return p.BaseURL + "/v1beta/models"
	}
	return p.BaseURL + "/models"
}

// page gets one page of the list, after what the one before said.
func (p Provider) page(ctx context.Context, client *http.Client, key, after string) (names []string, next string, err error) {
	address, query := p.ListAddress(), url.Values{}
	switch p.Protocol {
	case Anthropic:
		query.Set("limit", "1000")
		if after != "" {
			query.Set("after_id", after)
		}
	case Google:
		query.Set("pageSize", "1000")
		if after != "" {
			query.Set("pageToken", after)
		}
	}
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, "", &ListError{Err: err}
	}
	for name, value := range p.Headers {
		req.Header.Set(name, value)
	}
	switch {
	case p.Protocol == Anthropic:
		req.Header.Set("Anthropic-Version", "2023-06-01")
		if key != "" {
			req.Header.Set("X-Api-Key", key)
		}
	case key == "":
	case p.Protocol == Google:
		req.Header.Set("X-Goog-Api-Key", key)
	default:
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, "", &ListError{Err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxListBytes))
	switch {
	case refusesKey(resp.StatusCode, body):
		return nil, "", &ListError{Status: http.StatusUnauthorized}
	case resp.StatusCode != http.StatusOK:
		return nil, "", &ListError{Status: resp.StatusCode}
	case err != nil:
		return nil, "", &ListError{Err: err}
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
		HasMore bool   `json:"has_more"`
		LastID  string `json:"last_id"`
		Models  []struct {
			Name    string   `json:"name"`
			Methods []string `json:"supportedGenerationMethods"`
		} `json:"models"`
		NextPageToken string `json:"nextPageToken"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, "", &ListError{Status: resp.StatusCode, Err: fmt.Errorf("what came is no list of models")}
	}
	for _, m := range list.Data {
		names = append(names, m.ID)
	}
	if p.Protocol == Google {
		for _, m := range list.Models {
			if len(m.Methods) == 0 || strings.Contains(strings.Join(m.Methods, " "), "generateContent") {
				names = append(names, strings.TrimPrefix(m.Name, "models/"))
			}
		}
		return names, list.NextPageToken, nil
	}
	if len(names) == 0 && list.Data == nil {
		return nil, "", &ListError{Status: resp.StatusCode, Err: fmt.Errorf("what came is no list of models")}
	}
	if p.Protocol == Anthropic && list.HasMore {
		next = list.LastID
	}
	return names, next, nil
}

// refusesKey also knows Google's way to say so, which is 400.
func refusesKey(status int, body []byte) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden ||
		status == http.StatusBadRequest && strings.Contains(string(body), "API_KEY_INVALID")
}

// Look finds which of the servers of one's own machine are there, with their models, in the providers' order. It
// takes as long as [Surroundings] has patience, at most.
func (c *Config) Look(ctx context.Context) []Found {
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	looked := make([]Found, len(c.Providers))
	var wait sync.WaitGroup
	for i, p := range c.Providers {
		if p.Local {
			wait.Go(func() {
				if models, err := c.List(ctx, p); err == nil && len(models) > 0 {
					looked[i] = Found{p, models}
				}
			})
		}
	}
	wait.Wait()
	var found []Found
	for _, f := range looked {
		if len(f.Models) > 0 {
			found = append(found, f)
		}
	}
	return found
}

// Found is a server that is there.
type Found struct {
	Provider Provider
	Models   []string
}

// First is the first model of a list that can be talked to, as far as names tell: those that embed cannot.
func First(models []string) string {
	for _, name := range models {
		if name != "" && !strings.Contains(strings.ToLower(name), "embed") {
			return name
		}
	}
	return ""
}
