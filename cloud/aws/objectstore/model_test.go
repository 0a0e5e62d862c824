package objectstore_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
)

// noOracle is the reason for skipping checks when Amazon's description of its API is missing.
const noOracle = "botocore is not there, which has Amazon's model of S3: pip install 'moto[server]'"

// model is Amazon's description of S3, as botocore has it.
type model struct {
	Operations map[string]struct {
		HTTP struct {
			Method     string
			RequestURI string `json:"requestUri"`
		}
		Input struct{ Shape string }
	}
	Shapes map[string]shape
}

type shape struct {
	Type     string
	Members  map[string]member
	Enum     []string
	Required []string
	Min, Max int
	Pattern  string
}

type member struct{ Shape, Location, LocationName string }

// loadModel reads the model of S3; nil without botocore.
func loadModel(t testing.TB) *model {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "python3", "-c", "import botocore, os; print(os.path.dirname(botocore.__file__))").Output()
	if err != nil {
		t.Log(noOracle)
		return nil
	}
	file, err := os.Open(filepath.Join(strings.TrimSpace(string(out)), "data", "s3", "2006-03-01", "service-2.json.gz"))
	if err != nil {
		t.Log(noOracle) // Older ones do not compress it, and do not know If-None-Match either.
		return nil
	}
	defer func() { _ = file.Close() }()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatalf("reading the model: %v", err)
	}
	var m model
	if err := json.NewDecoder(unpacked).Decode(&m); err != nil {
		t.Fatalf("reading the model: %v", err)
	}
	return &m
}

// headersOfAll returns the headers of every service, which the model of S3 does not
// describe.
func headersOfAll() []string {
	return []string{
		"Authorization", "User-Agent", "Accept-Encoding", "Amz-Sdk-Invocation-Id", "Amz-Sdk-Request", "X-Amz-Date", "X-Amz-Content-Sha256",
		"X-Amz-Security-Token", "Content-Length",
	}
}

// request checks a request: its operation, its parameters and headers, and their values.
func (m *model) request(r *http.Request) error {
	host, path := r.URL.Host, r.URL.EscapedPath()
	if !strings.HasPrefix(host, bucketName+".") && !strings.HasPrefix(host, "foreign-bucket.") {
		_, path, _ = strings.Cut(strings.TrimPrefix(path, "/"), "/")
		path = "/" + path
	}
	name := operation(r, path)
	described, ok := m.Operations[name]
	if !ok || described.HTTP.Method != r.Method {
		return fmt.Errorf("there is no operation %q of method %s", name, r.Method)
	}
	if id := r.URL.Query().Get("x-id"); id != "" && id != name {
		return fmt.Errorf("%s says that it is %s", name, id)
	}
	input := m.Shapes[described.Input.Shape]
	for key, values := range r.URL.Query() {
		if key == "x-id" || strings.Contains(described.HTTP.RequestURI, "?"+key) {
			continue
		}
		if err := m.value(input, "querystring", key, values); err != nil {
			return fmt.Errorf("parameter %s of %s: %w", key, name, err)
		}
	}
	for key, values := range r.Header {
		if slices.Contains(headersOfAll(), key) {
			continue
		}
		if err := m.value(input, "header", key, values); err != nil {
			return fmt.Errorf("header %s of %s: %w", key, name, err)
		}
	}
	// Our own requirement: without the header, a PUT would overwrite an existing object.
	if r.Method == http.MethodPut && r.Header.Get("If-None-Match") != "*" {
		return fmt.Errorf("%s without If-None-Match", name)
	}
	return nil
}

// operation returns the name of the operation that a request calls.
func operation(r *http.Request, path string) string {
	switch {
	case path == "/" && r.URL.Query().Get("list-type") == "2":
		return "ListObjectsV2"
	case path == "/" && r.URL.Query().Has("versions"):
		return "ListObjectVersions"
	case path == "/":
		return "ListObjects"
	case r.Method == http.MethodPut:
		return "PutObject"
	case r.Method == http.MethodGet:
		return "GetObject"
	case r.Method == http.MethodHead:
		return "HeadObject"
	case r.Method == http.MethodDelete:
		return "DeleteObject"
	default:
		return r.Method
	}
}

// value checks the value of a parameter or header.
func (m *model) value(input shape, location, name string, values []string) error {
	for _, of := range input.Members {
		if of.Location != location || !strings.EqualFold(of.LocationName, name) {
			continue
		}
		if len(values) != 1 {
			return fmt.Errorf("it is given %d times", len(values))
		}
		s := m.Shapes[of.Shape]
		var err error
		switch s.Type {
		case "integer", "long":
			_, err = strconv.ParseInt(values[0], 10, 64)
		case "boolean":
			_, err = strconv.ParseBool(values[0])
		}
		if err == nil && len(s.Enum) > 0 && !slices.Contains(s.Enum, values[0]) {
			err = fmt.Errorf("%q is none of %q", values[0], s.Enum)
		}
		return err
	}
	return fmt.Errorf("there is no such %s", location)
}

// oracle checks requests with their final headers when they are sent, and returns the errors
// of a call later.
type oracle struct {
	model *model

	mu    sync.Mutex
	wrong map[string]error
}

// over returns a transport that checks each request before next sends it.
func (o *oracle) over(next http.RoundTripper) http.RoundTripper {
	if o.model == nil {
		return next
	}
	return checking{o, next}
}

type checking struct {
	*oracle

	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (c checking) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := c.model.request(r); err != nil {
		c.mu.Lock()
		if c.wrong == nil {
			c.wrong = map[string]error{}
		}
		c.wrong[r.Method+" "+r.URL.RequestURI()] = err
		c.mu.Unlock()
	}
	return c.next.RoundTrip(r)
}

// validate implements objectstore.Backend.Validate; nil without a model.
func (o *oracle) validate() func(faults.Call) error {
	if o.model == nil {
		return nil
	}
	return func(call faults.Call) error {
		o.mu.Lock()
		defer o.mu.Unlock()
		line, _, _ := strings.Cut(call.Request, "\n")
		return o.wrong[line]
	}
}

func TestModelRefuses(t *testing.T) {
	t.Parallel()
	m := loadModel(t)
	if m == nil {
		t.Skip(noOracle)
	}
	for name, test := range map[string]struct {
		method, target string
		header         http.Header
		bad            bool
	}{
		"put":               {http.MethodPut, "/b/k?x-id=PutObject", http.Header{"If-None-Match": {"*"}}, false},
		"get":               {http.MethodGet, "/b/k/l", http.Header{"Range": {"bytes=0-1"}}, false},
		"list":              {http.MethodGet, "/b?list-type=2&prefix=x&max-keys=3", nil, false},
		"put over":          {http.MethodPut, "/b/k", nil, true},
		"operation":         {http.MethodPatch, "/b/k", nil, true},
		"another operation": {http.MethodGet, "/b/k?x-id=PutObject", nil, true},
		"parameter":         {http.MethodGet, "/b?list-type=2&before=x", nil, true},
		"number":            {http.MethodGet, "/b?list-type=2&max-keys=many", nil, true},
		"enum":              {http.MethodGet, "/b?list-type=2&encoding-type=hex", nil, true},
		"header":            {http.MethodDelete, "/b/k", http.Header{"If-None-Match": {"*"}}, true},
		"value":             {http.MethodPut, "/b/k", http.Header{"If-None-Match": {"*"}, "X-Amz-Storage-Class": {"COLD"}}, true},
		"twice":             {http.MethodGet, "/b?list-type=2&prefix=x&prefix=y", nil, true},
	} {
		r := httptest.NewRequestWithContext(t.Context(), test.method, endpoint+test.target, nil)
		r.Header = test.header
		if err := m.request(r); (err != nil) != test.bad {
			t.Errorf("%s: %v", name, err)
		}
	}
}
