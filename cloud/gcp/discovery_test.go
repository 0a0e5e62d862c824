package gcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
)

// discovery is Google's own description of the Compute Engine API, which comes with
// module google.golang.org/api. Requests and answers are compared with it.
type discovery struct {
	BasePath   string                 `json:"basePath"`
	Parameters map[string]*schema     `json:"parameters"`
	Schemas    map[string]*schema     `json:"schemas"`
	Resources  map[string]apiResource `json:"resources"`

	methods []*apiMethod
}

type apiResource struct {
	Methods map[string]*apiMethod `json:"methods"`
}

type apiMethod struct {
	ID         string             `json:"id"`
	HTTPMethod string             `json:"httpMethod"`
	FlatPath   string             `json:"flatPath"`
	Path       string             `json:"path"`
	Parameters map[string]*schema `json:"parameters"`
	Request    *schema            `json:"request"`
	Response   *schema            `json:"response"`

	pattern *regexp.Regexp
}

type schema struct {
	Ref                  string             `json:"$ref"`
	Type                 string             `json:"type"`
	Format               string             `json:"format"`
	Pattern              string             `json:"pattern"`
	Enum                 []string           `json:"enum"`
	Items                *schema            `json:"items"`
	Properties           map[string]*schema `json:"properties"`
	AdditionalProperties *schema            `json:"additionalProperties"`
	ReadOnly             bool               `json:"readOnly"`
	Location             string             `json:"location"`
	Required             bool               `json:"required"`
	Annotations          struct {
		Required []string `json:"required"`
	} `json:"annotations"`
}

func discover(t testing.TB) *discovery {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "google.golang.org/api").Output()
	if err != nil {
		t.Fatalf("finding module google.golang.org/api, which has Google's description of the API: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "compute", "v1", "compute-api.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d discovery
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	segment := regexp.MustCompile(`\\\{\+?(\w+)\\\}`)
	for _, resource := range d.Resources {
		for _, m := range resource.Methods {
			path := m.FlatPath
			if path == "" {
				path = m.Path
			}
			m.pattern = regexp.MustCompile("^" + segment.ReplaceAllString(regexp.QuoteMeta(d.BasePath+path), `(?P<$1>[^/]+)`) + "$")
			d.methods = append(d.methods, m)
		}
	}
	if len(d.methods) < 100 {
		t.Fatalf("Google's description has %d methods", len(d.methods))
	}
	return &d
}

// method finds the method of a request: of several, the one with the fewest variables.
func (d *discovery) method(verb, path string) (*apiMethod, map[string]string, error) {
	var found *apiMethod
	for _, m := range d.methods {
		if m.HTTPMethod == verb && m.pattern.MatchString(path) && (found == nil || m.pattern.NumSubexp() < found.pattern.NumSubexp()) {
			found = m
		}
	}
	if found == nil {
		return nil, nil, fmt.Errorf("there is no method %s %s", verb, path)
	}
	parts, values := found.pattern.FindStringSubmatch(path), map[string]string{}
	for i, name := range found.pattern.SubexpNames() {
		if name != "" {
			values[name] = parts[i]
		}
	}
	return found, values, nil
}

// request compares a request that was recorded.
func (d *discovery) request(call faults.Call) error {
	line, body, _ := strings.Cut(call.Request, "\n")
	verb, uri, _ := strings.Cut(line, " ")
	u, err := url.Parse(uri)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(u.Path, d.BasePath) {
		return d.tokenRequest(verb, u, body)
	}
	m, values, err := d.method(verb, u.Path)
	if err != nil {
		return err
	}
	var all []error
	for name, value := range values {
		all = append(all, d.parameter(m, name, "path", value))
	}
	for name, given := range u.Query() {
		if len(given) != 1 {
			all = append(all, fmt.Errorf("parameter %s is given %d times", name, len(given)))
		}
		all = append(all, d.parameter(m, name, "query", given[0]))
	}
	for name, p := range m.Parameters {
		if p.Required && p.Location == "query" && !u.Query().Has(name) {
			all = append(all, fmt.Errorf("parameter %s is missing", name))
		}
	}
	if m.Request == nil {
		if body != "" {
			all = append(all, errors.New("a body where none belongs"))
		}
		return errors.Join(all...)
	}
	var value any
	if err := json.Unmarshal([]byte(body), &value); err != nil {
		return errors.Join(append(all, err)...)
	}
	return errors.Join(append(all, d.value(value, m.Request, "body", m.ID))...)
}

// tokenRequest knows the three ways to a token, which are not in this description.
func (d *discovery) tokenRequest(verb string, u *url.URL, _ string) error {
	if verb == "POST" && u.RawQuery == "" && (u.Path == "/token" || u.Path == "/v1/token" || strings.HasSuffix(u.Path, ":generateAccessToken")) {
		return nil
	}
	return fmt.Errorf("%s %s is neither of the API nor for a token", verb, u)
}

func (d *discovery) parameter(m *apiMethod, name, location, value string) error {
	p := m.Parameters[name]
	if p == nil && location == "query" {
		if p = d.Parameters[name]; p == nil {
			return fmt.Errorf("%s has no parameter %s", m.ID, name)
		}
	}
	if p == nil || p.Location != location {
		return fmt.Errorf("%s has no parameter %s in the %s", m.ID, name, location)
	}
	return scalar(value, p, name)
}

// answer compares the body of a good answer.
func (d *discovery) answer(verb, path string, body []byte) error {
	m, _, err := d.method(verb, path)
	if err != nil {
		return err
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return err
	}
	if m.Response == nil {
		return fmt.Errorf("%s answers nothing", m.ID)
	}
	return d.value(value, m.Response, "answer", "")
}

// value compares a value with its schema, and all that is in it. A method is that of
// the request which it is in, empty for an answer.
func (d *discovery) value(value any, s *schema, where, method string) error {
	if s.Ref != "" {
		s = d.Schemas[s.Ref]
	}
	switch s.Type {
	case "any":
		return nil
	case "object":
		object, ok := value.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is no object", where)
		}
		return d.object(object, s, where, method)
	case "array":
		list, ok := value.([]any)
		if !ok {
			return fmt.Errorf("%s is no array", where)
		}
		var all []error
		for i, item := range list {
			all = append(all, d.value(item, s.Items, fmt.Sprintf("%s[%d]", where, i), method))
		}
		return errors.Join(all...)
	case "string":
		text, ok := value.(string)
		if !ok {
			return fmt.Errorf("%s is no string", where)
		}
		return scalar(text, s, where)
	case "boolean":
		if _, ok := value.(bool); !ok {
			return fmt.Errorf("%s is no boolean", where)
		}
	case "integer", "number":
		if n, ok := value.(float64); !ok || s.Type == "integer" && n != float64(int64(n)) {
			return fmt.Errorf("%s is no %s", where, s.Type)
		}
	default:
		return fmt.Errorf("%s has a schema of type %q", where, s.Type)
	}
	return nil
}

func (d *discovery) object(object map[string]any, s *schema, where, method string) error {
	var all []error
	for name, value := range object {
		property := s.Properties[name]
		if property == nil {
			property = s.AdditionalProperties
		}
		switch {
		case property == nil:
			all = append(all, fmt.Errorf("%s has no property %s", where, name))
		case method != "" && property.ReadOnly:
			all = append(all, fmt.Errorf("%s.%s is Google's to say", where, name))
		default:
			all = append(all, d.value(value, property, where+"."+name, method))
		}
	}
	for name, property := range s.Properties {
		if _, given := object[name]; !given && method != "" && slices.Contains(property.Annotations.Required, method) {
			all = append(all, fmt.Errorf("%s.%s is missing", where, name))
		}
	}
	return errors.Join(all...)
}

// scalar compares a text with what is said of it.
func scalar(text string, s *schema, where string) error {
	var err error
	switch s.Format {
	case "int64", "int32":
		_, err = strconv.ParseInt(text, 10, 64)
	case "uint64", "uint32":
		_, err = strconv.ParseUint(text, 10, 64)
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s is no %s: %w", where, s.Format, err)
	case s.Type == "boolean" && text != "true" && text != "false":
		return fmt.Errorf("%s is no boolean: %q", where, text)
	case len(s.Enum) > 0 && !slices.Contains(s.Enum, text):
		return fmt.Errorf("%s is %q, want one of %q", where, text, s.Enum)
	case s.Pattern != "" && !regexp.MustCompile("^(?:"+s.Pattern+")$").MatchString(text):
		return fmt.Errorf("%s is %q, which does not match %s", where, text, s.Pattern)
	default:
		return nil
	}
}

func TestDiscoveryFindsFaults(t *testing.T) {
	t.Parallel()
	api := discover(t)
	insert := "POST /compute/v1/projects/shop-prod/global/snapshots?requestId=x\n"
	tests := map[string]struct {
		request string
		fault   bool
	}{
		"good":                {insert + `{"name": "a", "snapshotType": "STANDARD", "labels": {"a": "b"}, "storageLocations": ["eu"]}`, false},
		"unknown path":        {"GET /compute/v1/projects/shop-prod/global/snapshot\n", true},
		"unknown method":      {"PUT /compute/v1/projects/shop-prod/global/snapshots/a\n", true},
		"unknown parameter":   {"GET /compute/v1/projects/shop-prod/global/snapshots?filters=x\n", true},
		"parameter's type":    {"GET /compute/v1/projects/shop-prod/global/snapshots?maxResults=many\n", true},
		"unknown field":       {insert + `{"name": "a", "disk": "b"}`, true},
		"missing field":       {insert + `{"snapshotType": "STANDARD"}`, true},
		"field's type":        {insert + `{"name": "a", "storageLocations": "eu"}`, true},
		"enum":                {insert + `{"name": "a", "snapshotType": "FAST"}`, true},
		"pattern":             {insert + `{"name": "Shop"}`, true},
		"read-only field":     {insert + `{"name": "a", "status": "READY"}`, true},
		"enum within a field": {insert + `{"name": "a", "snapshotEncryptionKey": {"key": "b"}}`, true},
		"body of a GET":       {"GET /compute/v1/projects/shop-prod\n{}", true},
		"somewhere else":      {"GET /latest/meta-data\n", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := api.request(faults.Call{Request: tt.request}); (err != nil) != tt.fault {
				t.Errorf("error %v, want one: %t", err, tt.fault)
			}
		})
	}
	if api.answer("GET", "/compute/v1/projects/shop-prod/global/snapshots/a", []byte(`{"status": "THINKING"}`)) == nil {
		t.Error("an answer with an unknown state has no fault")
	}
}
