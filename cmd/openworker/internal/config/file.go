package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/document"
	"github.com/openworkerai/openworker/model"
)

var (
	providerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	reference    = regexp.MustCompile(`\$\{([^}]*)\}`)
	headerName   = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	mediaType    = regexp.MustCompile(`^[a-z]+/[a-z0-9.+-]+$`)
	fieldName    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// scripted is the offline model's provider, whose name nobody else may have.
const scripted = "Scripted"

type fields = map[string]func(*document.Value)

type reader struct {
	*document.Document
	config *Config
}

// from says where a value stands.
func (r *reader) from(v *document.Value) string {
	return fmt.Sprintf("%s:%d:%d", r.File, v.Line, v.Column)
}

func (r *reader) wrong(v *document.Value, format string, args ...any) {
	r.Fault(v, api.CodeInvalidRequest, format, args...)
}

func (r *reader) read() {
	c := r.config
	r.Map(r.Root, fields{
		"model": func(v *document.Value) {
			if text, ok := r.Text(v); ok {
				if text = strings.TrimSpace(text); text == "" {
					r.wrong(v, "is empty; write Provider/name, for example OpenAI/gpt-5-mini")
				}
				c.Model, c.ModelFrom = text, r.from(v)
			}
		},
		"credentials": func(v *document.Value) {
			text, ok := r.Text(v)
			c.Credentials, c.CredentialsFrom = Keys(text), r.from(v)
			if ok && c.Credentials != KeysInEnvironment && c.Credentials != KeysInFile {
				r.wrong(v, "is %q; write %s or %s, or leave it out for both", text, KeysInEnvironment, KeysInFile)
			}
		},
		"providers": func(v *document.Value) {
			for _, f := range r.Fields(v) {
				r.provider(f)
			}
		},
	})
}

// provider reads one provider: a new one, or what is to be different at one that is built in.
func (r *reader) provider(f document.Field) {
	at := &document.Value{Place: f.Place, Path: f.Value.Path}
	c := r.config
	i := slices.IndexFunc(c.Providers, func(p Provider) bool { return sameName(p.Name, f.Name) })
	switch {
	case !providerName.MatchString(f.Name):
		r.wrong(at, "%q is no provider's name: up to 64 of A–Z a–z 0–9 . _ -, beginning with a letter or digit", f.Name)
		return
	case sameName(f.Name, scripted):
		r.wrong(at, "%s is the offline model's name; choose another", scripted)
		return
	case i >= 0 && c.Providers[i].From["provider"] != "":
		r.wrong(at, "the provider %s stands twice; letters' case makes no other name", c.Providers[i].Name)
		return
	}
	p := Provider{Name: f.Name, KeyVariables: []string{keyVariable(f.Name)}, From: map[string]string{}}
	if i >= 0 {
		p = c.Providers[i]
	}
	p.From["provider"], p.Local = r.from(at), false // what is configured is used unasked
	before := r.Count()
	r.Map(f.Value, r.fields(&p))
	switch {
	case p.Protocol == "":
		r.wrong(at, "protocol is missing; write one of %s", protocols())
	case p.BaseURL == "" && (p.Protocol == OpenAIChat || p.Protocol == OpenAIResponses):
		r.wrong(at, "baseURL is missing; write the server's address, for example http://127.0.0.1:8000/v1")
	case p.BaseURL == "" && p.Protocol == Anthropic:
		p.BaseURL, p.From["baseURL"] = AnthropicURL, BuiltIn
	case p.BaseURL == "" && p.Protocol == Google:
		p.BaseURL, p.From["baseURL"] = GoogleURL, BuiltIn
	}
	if before == r.Count() { // nothing was wrong so far
		settled := p
		settled.From = maps.Clone(p.From)
		settled.settle()
		if _, err := settled.Open(nil); err != nil {
			message := api.AsError(err).Message
			field := f.Value.At("baseURL")
			if headers := f.Value.At("headers"); headers != nil && strings.HasPrefix(message, "Headers") {
				field = headers
			}
			if field == nil {
				field = at
			}
			r.wrong(field, "%s", message)
		}
	}
	if i >= 0 {
		c.Providers[i] = p
	} else {
		c.Providers = append(c.Providers, p)
	}
}

func (r *reader) fields(p *Provider) fields {
	noted := func(name string, read func(*document.Value)) func(*document.Value) {
		return func(v *document.Value) {
			p.From[name] = r.from(v)
			read(v)
		}
	}
	all := fields{
		"protocol": func(v *document.Value) {
			text, ok := r.Text(v)
			p.Protocol = Protocol(text)
			if ok && !slices.Contains(Protocols(), p.Protocol) {
				r.wrong(v, "is %q; write one of %s", text, protocols())
			}
		},
		"baseURL": func(v *document.Value) {
			if text, ok := r.Text(v); ok {
				p.BaseURL = strings.TrimRight(text, "/")
			}
		},
		"headers": func(v *document.Value) { p.Headers = r.headers(v) },
		"keyVariable": func(v *document.Value) {
			text, ok := r.Text(v)
			if ok && !variableName.MatchString(text) {
				r.wrong(v, "is %q, which is no name of an environment variable", text)
			}
			p.KeyVariables = []string{text}
		},
		"keyOptional": func(v *document.Value) { p.KeyOptional, _ = r.Bool(v) },
		"models":      func(v *document.Value) { r.models(p, v) },
	}
	for name, to := range map[string]*string{"maxTokensField": &p.MaxTokensField, "sessionField": &p.SessionField} {
		all[name] = func(v *document.Value) {
			text, ok := r.Text(v)
			*to = text
			if ok && !fieldName.MatchString(text) {
				r.wrong(v, "is %q, which is no name of a request's field", text)
			}
			if ok && p.Protocol != OpenAIChat && p.Protocol != "" {
				r.wrong(v, "belongs to the protocol %s", OpenAIChat)
			}
		}
	}
	for name, read := range all {
		all[name] = noted(name, read)
	}
	return all
}

// headers reads headers, whose values may name environment variables as ${NAME}.
func (r *reader) headers(v *document.Value) map[string]string {
	headers := map[string]string{}
	for _, f := range r.Fields(v) {
		if !headerName.MatchString(f.Name) {
			r.wrong(&document.Value{Place: f.Place, Path: v.Path}, "%q is no name of a header", f.Name)
		}
		text, _ := r.Text(f.Value)
		for _, match := range reference.FindAllStringSubmatch(text, -1) {
			value, _ := r.config.lookup(match[1])
			if !variableName.MatchString(match[1]) {
				r.wrong(f.Value, "%s names no environment variable; write ${NAME}", match[0])
			} else if value == "" {
				r.wrong(f.Value, "the environment variable %s is not set", match[1])
			}
		}
		headers[f.Name] = reference.ReplaceAllStringFunc(text, func(match string) string {
			value, _ := r.config.lookup(match[2 : len(match)-1])
			return value
		})
		if strings.ContainsFunc(headers[f.Name], func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
			r.wrong(f.Value, "holds a control character, which no header may")
		}
	}
	return headers
}

func (r *reader) models(p *Provider, v *document.Value) {
	p.Facts = map[string]model.Facts{}
	p.Models = nil
	for _, f := range r.Fields(v) {
		var known model.Facts
		count := func(to *int) func(*document.Value) {
			return func(v *document.Value) {
				n, ok := r.Int(v)
				if ok && (n < 1 || n > 1<<31-1) {
					r.wrong(v, "is %d; it must be from 1 to %d", n, 1<<31-1)
				}
				*to = n
			}
		}
		if strings.TrimSpace(f.Name) != f.Name || f.Name == "" || len(f.Name) > 256 {
			r.wrong(&document.Value{Place: f.Place, Path: v.Path}, "%q is no model's name", f.Name)
		}
		r.Map(f.Value, fields{
			"window":          count(&known.Window),
			"maxOutputTokens": count(&known.MaxOutputTokens),
			"formats": func(v *document.Value) {
				list, _ := r.Texts(v)
				for i, item := range v.Children() {
					if !mediaType.MatchString(list[i]) && list[i] != "" {
						r.wrong(item, "is %q, which is no media type such as image/png", list[i])
					}
				}
				known = known.OnlyFormats(list...)
			},
		})
		if known.Window > 0 && known.MaxOutputTokens > known.Window {
			r.wrong(f.Value, "maxOutputTokens is %d, more than the window of %d", known.MaxOutputTokens, known.Window)
		}
		p.Models = append(p.Models, f.Name)
		p.Facts[f.Name] = known
	}
}

func protocols() string {
	var names []string
	for _, p := range Protocols() {
		names = append(names, string(p))
	}
	return strings.Join(names, ", ")
}

// keyVariable is the variable with a provider's key unless another is named.
func keyVariable(provider string) string {
	return strings.Map(func(c rune) rune {
		if 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' {
			return c
		}
		return '_'
	}, strings.ToUpper(provider)) + "_API_KEY"
}
