package gcs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tokenLife is the lifetime of a token with a boundary.
const tokenLife = time.Hour

// accessBoundary is the most that a token allows.
type accessBoundary struct {
	Rules []boundaryRule `json:"accessBoundaryRules"`
}

// boundaryRule allows what its roles do to a resource, where its condition holds.
type boundaryRule struct {
	Resource    string   `json:"availableResource"`
	Permissions []string `json:"availablePermissions"`
	Condition   *struct {
		Expression  string `json:"expression"`
		Title       string `json:"title"`
		Description string `json:"description"`
	} `json:"availabilityCondition"`

	// holds is the condition, read; nil is true of everything.
	holds func(resource string) bool
}

// narrowed is a token with a boundary.
type narrowed struct {
	rules   []boundaryRule
	expires time.Time
}

// bearer returns the boundary of a token, and whether the token is known and has not expired.
func (s *Server) bearer(token string) (narrowed, bool) {
	s.mu.Lock()
	found, isNarrow := s.narrowed[token]
	s.mu.Unlock()
	if isNarrow {
		return found, s.Clock.Now().Before(found.expires)
	}
	_, known := s.Tokens.Bearer(token)
	return narrowed{}, known
}

// allows reports whether a boundary has a permission in it; one without rules has them all.
func (n narrowed) allows(permission, resource string) bool {
	return n.rules == nil || slices.ContainsFunc(n.rules, func(r boundaryRule) bool {
		_, within, _ := strings.Cut(r.Resource, "storage.googleapis.com/")
		return (resource == within || strings.HasPrefix(resource, within+"/")) && (r.holds == nil || r.holds(resource)) &&
			slices.ContainsFunc(r.Permissions, func(role string) bool { return slices.Contains(rolePermissions(role), permission) })
	})
}

// rolePermissions returns the permissions of a role that matter here; nil for an unknown
// role.
func rolePermissions(role string) []string {
	switch role {
	case "inRole:roles/storage.objectCreator":
		return []string{"storage.objects.create"}
	case "inRole:roles/storage.objectViewer":
		return []string{"storage.objects.get", "storage.objects.list"}
	case "inRole:roles/storage.objectUser", "inRole:roles/storage.objectAdmin":
		return []string{"storage.objects.create", "storage.objects.get", "storage.objects.list", "storage.objects.delete"}
	default:
		return nil
	}
}

// token serves the token service. It handles exchanges of access tokens, and leaves all
// others to Tokens.
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	const accessURN = "urn:ietf:params:oauth:token-type:access_token"
	r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
	if r.PostFormValue("subject_token_type") != accessURN {
		s.Tokens.ServeHTTP(w, r)
		return
	}
	made, err := s.exchange(r, accessURN)
	if err != nil {
		w.Header().Set("Content-Type", "application/json; charset=UTF-8")
		w.WriteHeader(http.StatusBadRequest)
		text, _ := json.Marshal(map[string]string{"error": asProblem(err).reason, "error_description": err.Error()})
		_, _ = w.Write(text)
		return
	}
	s.mu.Lock()
	s.serial++
	token := "ya29.dr.fake-" + strconv.Itoa(s.serial)
	s.narrowed[token] = made
	s.mu.Unlock()
	writeJSON(w, map[string]any{
		"access_token": token, "token_type": "Bearer", "expires_in": int(tokenLife.Seconds()), "issued_token_type": accessURN,
	})
}

func refuse(code, format string, args ...any) error {
	return problem{http.StatusBadRequest, code, code, fmt.Sprintf(format, args...)}
}

// exchange makes a token with a boundary.
func (s *Server) exchange(r *http.Request, accessURN string) (narrowed, error) {
	for name, want := range map[string]string{"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "requested_token_type": accessURN} {
		if r.PostFormValue(name) != want {
			return narrowed{}, refuse("invalid_request", "Invalid value for %q.", name)
		}
	}
	from, known := s.bearer(r.PostFormValue("subject_token"))
	switch {
	case !known:
		return narrowed{}, refuse("invalid_grant", "The subject token is invalid or has expired.")
	case from.rules != nil:
		return narrowed{}, refuse("invalid_request", "The subject token has security attributes already.")
	}
	var options struct {
		Boundary accessBoundary `json:"accessBoundary"`
	}
	decoder := json.NewDecoder(strings.NewReader(r.PostFormValue("options")))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&options); err != nil {
		return narrowed{}, refuse("invalid_request", "Invalid value for \"options\": %v", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return narrowed{}, refuse("invalid_request", "Invalid value for \"options\".")
	}
	rules := options.Boundary.Rules
	if len(rules) == 0 || len(rules) > 10 {
		return narrowed{}, refuse("invalid_request", "An access boundary has 1 to 10 rules.")
	}
	for i := range rules {
		if err := rules[i].read(); err != nil {
			return narrowed{}, err
		}
	}
	return narrowed{rules: rules, expires: s.Clock.Now().Add(tokenLife)}, nil
}

// read checks a rule and reads its condition.
func (b *boundaryRule) read() error {
	if !regexp.MustCompile(`^//storage\.googleapis\.com/projects/_/buckets/[a-z0-9._-]{3,63}$`).MatchString(b.Resource) {
		return refuse("invalid_request", "Invalid resource %q.", b.Resource)
	}
	if len(b.Permissions) == 0 {
		return refuse("invalid_request", "A rule needs permissions.")
	}
	for _, role := range b.Permissions {
		if rolePermissions(role) == nil {
			return refuse("invalid_request", "Invalid permission %q.", role)
		}
	}
	if b.Condition == nil {
		return nil
	}
	if len(b.Condition.Expression) > 2048 {
		return refuse("invalid_request", "The expression is too long.")
	}
	var tests []func(string) bool
	for term := range strings.SplitSeq(b.Condition.Expression, " || ") {
		parts := regexp.MustCompile(`^resource\.name( == |\.startsWith\()'([^'\\]+)'(\)?)$`).FindStringSubmatch(term)
		switch {
		case parts != nil && parts[1] == " == " && parts[3] == "":
			tests = append(tests, func(name string) bool { return name == parts[2] })
		case parts != nil && parts[1] != " == " && parts[3] == ")":
			tests = append(tests, func(name string) bool { return strings.HasPrefix(name, parts[2]) })
		default:
			return refuse("invalid_request", "The expression %q is not understood.", term)
		}
	}
	b.holds = func(name string) bool {
		return slices.ContainsFunc(tests, func(test func(string) bool) bool { return test(name) })
	}
	return nil
}
