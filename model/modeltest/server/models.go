package modeltestserver

import (
	"net/http"
	"slices"
	"strings"
)

// listModels answers GET /v1/models, for OpenAI's clients and for Anthropic's, and GET /v1beta/models for Google's.
func (s *Server) listModels(w http.ResponseWriter, r *http.Request) {
	protocol := modelsProtocol(r)
	if !s.admitModels(w, r, protocol) {
		return
	}
	entries := []object{}
	for _, model := range s.config.Models {
		entries = append(entries, modelEntry(protocol, model))
	}
	switch protocol {
	case Gemini:
		writeJSON(w, http.StatusOK, object{"models": entries})
	case Messages:
		page := object{"data": entries, "has_more": false, "first_id": nil, "last_id": nil}
		if n := len(s.config.Models); n > 0 {
			page["first_id"], page["last_id"] = s.config.Models[0], s.config.Models[n-1]
		}
		writeJSON(w, http.StatusOK, page)
	default:
		writeJSON(w, http.StatusOK, object{"object": "list", "data": entries})
	}
}

// oneModel answers the request for one model.
func (s *Server) oneModel(w http.ResponseWriter, r *http.Request) {
	protocol := modelsProtocol(r)
	if !s.admitModels(w, r, protocol) {
		return
	}
	model := r.PathValue("model")
	if !s.serves(model) {
		writeNoModel(w, protocol, model)
		return
	}
	writeJSON(w, http.StatusOK, modelEntry(protocol, model))
}

func (s *Server) admitModels(w http.ResponseWriter, r *http.Request, protocol Protocol) bool {
	if ok, given := s.admits(protocol, r); !ok {
		writeUnauthorized(w, protocol, given)
		return false
	}
	if protocol != Messages {
		return true
	}
	if err := checkMessagesHeader(r.Header); err != nil {
		writeError(w, protocol, http.StatusBadRequest, Error{Message: err.Error()})
		return false
	}
	return true
}

// modelsProtocol tells whose list is asked for: OpenAI's and Anthropic's have one path.
func modelsProtocol(r *http.Request) Protocol {
	switch {
	case strings.HasPrefix(r.URL.Path, "/v1beta/"):
		return Gemini
	case r.Header.Get("anthropic-version") != "":
		return Messages
	}
	return Chat
}

func (s *Server) serves(model string) bool {
	return s.config.Models == nil || slices.Contains(s.config.Models, model)
}

func modelEntry(protocol Protocol, model string) object {
	switch protocol {
	case Messages:
		return object{"type": "model", "id": model, "display_name": model, "created_at": "2026-01-01T00:00:00Z"}
	case Gemini:
		return object{
			"name": "models/" + model, "displayName": model, "inputTokenLimit": 1 << 20, "outputTokenLimit": 1 << 16,
			"supportedGenerationMethods": []string{"generateContent", "countTokens"},
		}
	}
	return object{"id": model, "object": "model", "created": 1767225600, "owned_by": "modeltest"}
}
