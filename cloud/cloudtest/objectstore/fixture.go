package objectstore

import (
	"bytes"
	"context"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/fixture"
)

// The suite's objects are below shopfleet/, as the hub's are: permissions may end there.
const (
	// below ends the prefixes of all cases. The hub's keys begin with it instead.
	below = "shopfleet"
	// prefix is the prefix of the account in most cases.
	prefix = AccountPrefix + "/" + below
)

// AccountPrefix is spec.objectStorage.prefix of most cases, as documented permissions name it.
const AccountPrefix = "backups/eu"

// Fixture is a Backend with a running case. It records errors and checks them after the
// case.
type Fixture struct {
	testing.TB
	*Backend

	// Unauthorized is set by cases that ask for more than the permissions allow.
	Unauthorized bool

	recorder fixture.Recorder
	mu       sync.Mutex
	signed   []string // The queries of signed URLs, which are secret.
}

// newFixture builds a backend and registers the checks of requests and errors for the end
// of the test.
func newFixture(t testing.TB, build func(testing.TB) *Backend) *Fixture {
	t.Helper()
	s := &Fixture{TB: t, Backend: build(t)}
	t.Cleanup(s.check)
	return s
}

func (s *Fixture) check() {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recorder.CheckErrors(s, s.Provider, slices.Concat(s.Secrets, s.signed))
	fixture.CheckRequests(s, s.Script.Calls(), s.Validate)
	if s.Refused != nil && !s.Unauthorized {
		fixture.CheckRefused(s, s.Refused())
	}
}

// Objects opens the bucket anew, as after a restart, and records the errors of its
// methods.
func (s *Fixture) Objects(o Options) cloud.Objects {
	s.Helper()
	opened, err := s.Open(s, o)
	if err != nil {
		s.Fatalf("opening the bucket: %v", err)
	}
	return recorded{opened, s}
}

// Default opens the bucket with the prefix of most cases.
func (s *Fixture) Default() cloud.Objects {
	s.Helper()
	return s.Objects(Options{Prefix: prefix})
}

// Put calls PutObject and fails the test on an error.
func (s *Fixture) Put(objects cloud.Objects, key, content string) {
	s.Helper()
	if err := objects.PutObject(s.Context(), key, []byte(content)); err != nil {
		s.Fatalf("putting %q: %v", key, err)
	}
}

// List reads a list to its end, and fails the test if anything follows an error.
func (s *Fixture) List(objects cloud.Objects, below string) ([]cloud.Object, error) {
	s.Helper()
	var all []cloud.Object
	var wrong error
	for o, err := range objects.ListObjects(s.Context(), below) {
		if wrong != nil {
			s.Fatalf("after the error %v comes %q, %v", wrong, o.Key, err)
		}
		if wrong = err; err == nil {
			all = append(all, o)
		}
	}
	return all, wrong
}

// WantList fails unless the list has exactly these keys, in this order.
func (s *Fixture) WantList(objects cloud.Objects, below string, want ...string) {
	s.Helper()
	all, err := s.List(objects, below)
	if err != nil {
		s.Fatalf("listing %q: %v", below, err)
	}
	got := make([]string, 0, len(all))
	for _, o := range all {
		got = append(got, o.Key)
	}
	if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
		s.Fatalf("keys of the list of %q (-want +got):\n%s", below, diff)
	}
}

// WantContent fails unless the bucket has an object with this content.
func (s *Fixture) WantContent(key, want string) {
	s.Helper()
	got, ok := s.Store.Content(key)
	if !ok || string(got) != want {
		s.Fatalf("the bucket has %t, with %d bytes, under %q; want %d bytes, or they differ", ok, len(got), key, len(want))
	}
}

// WantKeys fails unless the bucket has exactly these keys.
func (s *Fixture) WantKeys(want ...string) {
	s.Helper()
	if diff := cmp.Diff(append([]string{}, want...), append([]string{}, s.Store.Keys()...)); diff != "" {
		s.Fatalf("keys in the bucket (-want +got):\n%s", diff)
	}
}

// WantClass fails unless err has one of these classes.
func (s *Fixture) WantClass(err error, classes ...cloud.Class) {
	s.Helper()
	if err == nil || !slices.Contains(classes, cloud.ClassOf(err)) {
		s.Fatalf("class %q of error %v, want one of %q", cloud.ClassOf(err), err, classes)
	}
}

// Sent returns how many requests a call sends.
func (s *Fixture) Sent(call func()) int {
	before := s.Script.Count(faults.OpAny)
	call()
	return s.Script.Count(faults.OpAny) - before
}

// Sign signs one request and fails the test on an error.
func (s *Fixture) Sign(objects cloud.Objects, method, key string) cloud.SignedRequest {
	s.Helper()
	signed, err := objects.SignRequests(s.Context(), []cloud.ObjectRequest{{Method: method, Key: key}}, 10*time.Minute)
	if err != nil || len(signed) != 1 {
		s.Fatalf("signing a %s of %q: %d requests, %v", method, key, len(signed), err)
	}
	return signed[0]
}

// Do sends a signed request without credentials, and returns the status and the body.
func (s *Fixture) Do(signed cloud.SignedRequest, content string) (int, string) {
	s.Helper()
	var body io.Reader
	if signed.Method == http.MethodPut {
		body = bytes.NewReader([]byte(content))
	}
	r, err := http.NewRequestWithContext(s.Context(), signed.Method, signed.URL, body)
	if err != nil {
		s.Fatalf("building the signed request: %v", err)
	}
	for name, value := range signed.Header {
		r.Header.Set(name, value)
	}
	response, err := s.Send(r)
	if err != nil {
		s.Fatalf("sending a signed %s: %v", signed.Method, err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatalf("reading the response to a signed %s: %v", signed.Method, err)
	}
	return response.StatusCode, string(answer)
}

// WantDone fails unless a signed request succeeds.
func (s *Fixture) WantDone(signed cloud.SignedRequest, content string) string {
	s.Helper()
	status, answer := s.Do(signed, content)
	if status/100 != 2 {
		s.Fatalf("status %d to a signed %s: %s", status, signed.Method, answer)
	}
	return answer
}

// WantRefused fails unless a signed request is refused for another reason than a missing
// object.
func (s *Fixture) WantRefused(signed cloud.SignedRequest, content, why string) {
	s.Helper()
	if status, answer := s.Do(signed, content); status/100 != 4 || status == http.StatusNotFound {
		s.Errorf("%s: status %d to a signed %s, want a refusal: %s", why, status, signed.Method, answer)
	}
}

// keepSecret records the queries of signed URLs, which must not appear in errors.
func (s *Fixture) keepSecret(signed []cloud.SignedRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range signed {
		if u, err := url.Parse(r.URL); err == nil && u.RawQuery != "" {
			s.signed = append(s.signed, u.RawQuery)
		}
	}
}

// recorded records the errors of Objects.
type recorded struct {
	cloud.Objects

	s *Fixture
}

func (o recorded) SignRequests(ctx context.Context, wanted []cloud.ObjectRequest, life time.Duration) ([]cloud.SignedRequest, error) {
	got, err := o.Objects.SignRequests(ctx, wanted, life)
	o.s.keepSecret(got)
	return got, o.s.recorder.Record(err)
}

func (o recorded) PutObject(ctx context.Context, key string, content []byte) error {
	return o.s.recorder.Record(o.Objects.PutObject(ctx, key, content))
}

func (o recorded) GetObject(ctx context.Context, key string, limit int64) ([]byte, error) {
	return fixture.Result[[]byte](&o.s.recorder)(o.Objects.GetObject(ctx, key, limit))
}

func (o recorded) ListObjects(ctx context.Context, below string) iter.Seq2[cloud.Object, error] {
	return fixture.Items(&o.s.recorder, o.Objects.ListObjects(ctx, below))
}

func (o recorded) DeleteObject(ctx context.Context, key string) error {
	return o.s.recorder.Record(o.Objects.DeleteObject(ctx, key))
}
