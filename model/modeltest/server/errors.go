package modeltestserver

import (
	"encoding/json"
	"net/http"
)

// Error is an error, in whatever protocol. What is not given is what the protocol has for the status.
type Error struct {
	Message string
	Code    string          // OpenAI's code; the others have none
	Type    string          // OpenAI's and Anthropic's type, Gemini's status
	Details json.RawMessage // Gemini's details, a list
}

// object is the error's JSON in a protocol, as the body of an answer or as the data of an event.
func (e Error) object(protocol Protocol, status int) object {
	switch protocol {
	case Messages:
		inner := object{"type": e.kind(messagesErrors, status, "api_error"), "message": e.Message}
		return object{"type": "error", "error": inner, "request_id": newID("req_")}
	case Gemini:
		kind := e.kind(geminiErrors, status, "INTERNAL")
		if status == 0 {
			status = geminiStatus(kind)
		}
		inner := object{"code": status, "message": e.Message, "status": kind}
		if e.Details != nil {
			inner["details"] = e.Details
		}
		return object{"error": inner}
	}
	inner := object{"message": e.Message, "type": e.kind(openAIErrors, status, "server_error"), "param": nil, "code": nil}
	if e.Code != "" {
		inner["code"] = e.Code
	}
	return object{"error": inner}
}

func (e Error) kind(kinds map[int]string, status int, otherwise string) string {
	if e.Type != "" {
		return e.Type
	}
	if kind := kinds[status]; kind != "" {
		return kind
	}
	return otherwise
}

var openAIErrors = map[int]string{
	400: "invalid_request_error", 401: "invalid_request_error", 403: "invalid_request_error", 404: "invalid_request_error",
	413: "invalid_request_error", 429: "rate_limit_error",
}

var messagesErrors = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
	413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 504: "timeout_error", 529: "overloaded_error",
}

var geminiErrors = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED",
	500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}

func geminiStatus(kind string) int {
	for status, name := range geminiErrors {
		if name == kind {
			return status
		}
	}
	return http.StatusInternalServerError
}

func writeError(w http.ResponseWriter, protocol Protocol, status int, e Error) {
	writeJSON(w, status, e.object(protocol, status))
}

// writeUnauthorized answers a credential that is missing or wrong.
func writeUnauthorized(w http.ResponseWriter, protocol Protocol, given bool) {
	switch {
	case protocol == Messages:
		writeError(w, protocol, http.StatusUnauthorized, Error{Message: "invalid x-api-key"})
	case protocol == Gemini && given:
		writeError(w, protocol, http.StatusBadRequest, Error{
			Message: "API key not valid. Please pass a valid API key.",
			Details: json.RawMessage(`[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]`),
		})
	case protocol == Gemini:
		writeError(w, protocol, http.StatusForbidden, Error{Message: "Method doesn't allow unregistered callers. Please use API Key."})
	default:
		writeError(w, protocol, http.StatusUnauthorized, Error{Code: "invalid_api_key", Message: "the credential is not the one that is wanted"})
	}
}

// writeNoModel answers a model that is not served.
func writeNoModel(w http.ResponseWriter, protocol Protocol, model string) {
	e := Error{Code: "model_not_found", Message: "The model `" + model + "` does not exist or you do not have access to it."}
	switch protocol {
	case Messages:
		e = Error{Message: "model: " + model}
	case Gemini:
		e = Error{Message: "models/" + model + " is not found for API version v1beta, or is not supported for generateContent."}
	}
	writeError(w, protocol, http.StatusNotFound, e)
}
