package gcs

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// problem is an error in the format of Google, for JSON and XML.
type problem struct {
	status  int
	reason  string
	code    string
	message string
}

func (p problem) Error() string { return p.message }

func invalid(format string, args ...any) error {
	return problem{http.StatusBadRequest, "invalid", "InvalidArgument", fmt.Sprintf(format, args...)}
}

func denied(permission string) error {
	message := fmt.Sprintf("The caller does not have %s access to the Google Cloud Storage object. Permission '%s' denied on resource (or it may not exist).", permission, permission)
	return problem{http.StatusForbidden, "forbidden", "AccessDenied", message}
}

func (s *Server) notFound(object string) error {
	return problem{http.StatusNotFound, "notFound", "NoSuchKey", "No such object: " + s.Bucket + "/" + object}
}

func precondition() error {
	return problem{http.StatusPreconditionFailed, "conditionNotMet", "PreconditionFailed", "At least one of the pre-conditions you specified did not hold."}
}

// held returns the error for a change of an object that is under a hold.
func (s *Server) held(object string) error {
	message := fmt.Sprintf("Object '%s/%s' is under active Temporary hold and cannot be deleted, overwritten or archived until hold is removed.", s.Bucket, object)
	if s.Bland {
		return problem{http.StatusForbidden, "forbidden", "AccessDenied", message}
	}
	return problem{http.StatusForbidden, "objectUnderActiveHold", "ObjectUnderActiveHold", message}
}

// asProblem converts an error. One that is not a problem is from a truncated body.
func asProblem(err error) problem {
	var p problem
	if !errors.As(err, &p) {
		p = problem{http.StatusBadRequest, "invalid", "IncompleteBody", err.Error()}
	}
	return p
}

// ErrorBody returns the body of an error as the JSON API words it: reason is the short
// one, as in rateLimitExceeded.
func ErrorBody(status int, reason, message string) string {
	domain := "global"
	if reason == "rateLimitExceeded" || reason == "quotaExceeded" {
		domain = "usageLimits"
	}
	text, err := json.Marshal(map[string]any{"error": map[string]any{
		"code": status, "message": message,
		"errors": []any{map[string]any{"message": message, "domain": domain, "reason": reason}},
	}})
	if err != nil {
		return "{}"
	}
	return string(text)
}

// writeError answers as the JSON API does: downloads are refused in plain text.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	p := asProblem(err)
	text := ErrorBody(p.status, p.reason, p.message)
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	if r.URL.Query().Get("alt") == "media" {
		text = p.message
		w.Header().Set("Content-Type", "text/html; charset=UTF-8")
	}
	w.WriteHeader(p.status)
	_, _ = io.WriteString(w, text)
}

func writeXMLError(w http.ResponseWriter, err error) {
	p := asProblem(err)
	text, err := xml.Marshal(struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
		Message string
	}{Code: p.code, Message: p.message})
	if err != nil {
		text = []byte("<Error/>")
	}
	w.Header().Set("Content-Type", "application/xml; charset=UTF-8")
	w.WriteHeader(p.status)
	_, _ = io.WriteString(w, "<?xml version='1.0' encoding='UTF-8'?>"+string(text))
}

func writeJSON(w http.ResponseWriter, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		text = []byte("{}")
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	_, _ = w.Write(text)
}
