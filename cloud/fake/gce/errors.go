package gce

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// problem is an error in the format of Google.
type problem struct {
	status  int
	reason  string
	message string
}

func (p problem) Error() string { return p.message }

func invalid(format string, args ...any) error {
	return problem{http.StatusBadRequest, "invalid", fmt.Sprintf(format, args...)}
}

func notFound(resource string) error {
	return problem{http.StatusNotFound, "notFound", fmt.Sprintf("The resource '%s' was not found", resource)}
}

// ErrorBody returns the body of an error as the API words it: reason is the short
// one, as in rateLimitExceeded.
func ErrorBody(status int, reason, message string) string {
	domain := "global"
	if strings.Contains(reason, "imitExceeded") || reason == "quotaExceeded" {
		domain = "usageLimits"
	}
	body := map[string]any{"error": map[string]any{
		"code": status, "message": message,
		"errors": []any{map[string]any{"message": message, "domain": domain, "reason": reason}},
	}}
	text, err := json.Marshal(body)
	if err != nil {
		return "{}"
	}
	return string(text)
}

func writeError(w http.ResponseWriter, err error) {
	var p problem
	if !errors.As(err, &p) {
		p = problem{http.StatusInternalServerError, "backendError", err.Error()}
	}
	w.WriteHeader(p.status)
	_, _ = io.WriteString(w, ErrorBody(p.status, p.reason, p.message))
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		writeError(w, err)
		return
	}
	w.WriteHeader(status)
	_, _ = w.Write(text)
}
