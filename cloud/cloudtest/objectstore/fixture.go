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
	f := &Fixture{TB: t, Backend: build(t)}
	t.Cleanup(f.check)
	return f
}

func (f *Fixture) check() {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recorder.CheckErrors(f, f.Provider, slices.Concat(f.Secrets, f.signed))
	fixture.CheckRequests(f, f.Script.Calls(), f.Validate)
	if f.Refused != nil && !f.Unauthorized {
		fixture.CheckRefused(f, f.Refused())
	}
}

// Objects opens the bucket again, as after a restart, and records the errors of its
// methods.
func (f *Fixture) Objects(o Options) cloud.ObjectStore {
	f.Helper()
	opened, err := f.Open(f, o)
	if err != nil {
		f.Fatalf("opening the bucket: %v", err)
	}
	return recorded{opened, f}
}

// Default opens the bucket with the prefix of most cases.
func (f *Fixture) Default() cloud.ObjectStore {
	f.Helper()
	return f.Objects(Options{Prefix: prefix})
}

// Put calls PutObject and fails the test on an error.
func (f *Fixture) Put(objects cloud.ObjectStore, key, content string) {
	f.Helper()
	if err := objects.PutObject(f.Context(), key, []byte(content)); err != nil {
		f.Fatalf("putting %q: %v", key, err)
	}
}

// List reads a list to its end, and fails the test if anything follows an error.
func (f *Fixture) List(objects cloud.ObjectStore, below string) ([]cloud.Object, error) {
	f.Helper()
	var all []cloud.Object
	var wrong error
	for o, err := range objects.ListObjects(f.Context(), below) {
		if wrong != nil {
			f.Fatalf("after the error %v comes %q, %v", wrong, o.Key, err)
		}
		if wrong = err; err == nil {
			all = append(all, o)
		}
	}
	return all, wrong
}

// WantList fails unless the list has exactly these keys, in this order.
func (f *Fixture) WantList(objects cloud.ObjectStore, below string, want ...string) {
	f.Helper()
	all, err := f.List(objects, below)
	if err != nil {
		f.Fatalf("listing %q: %v", below, err)
	}
	got := make([]string, 0, len(all))
	for _, o := range all {
		got = append(got, o.Key)
	}
	if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
		f.Fatalf("keys of the list of %q (-want +got):\n%s", below, diff)
	}
}

// WantContent fails unless the bucket has an object with this content.
func (f *Fixture) WantContent(key, want string) {
	f.Helper()
	got, ok := f.Store.Content(key)
	if !ok || string(got) != want {
		f.Fatalf("the bucket has %t, with %d bytes, under %q; want %d bytes, or they differ", ok, len(got), key, len(want))
	}
}

// WantKeys fails unless the bucket has exactly these keys.
func (f *Fixture) WantKeys(want ...string) {
	f.Helper()
	if diff := cmp.Diff(append([]string{}, want...), append([]string{}, f.Store.Keys()...)); diff != "" {
		f.Fatalf("keys in the bucket (-want +got):\n%s", diff)
	}
}

// WantClass fails unless err has one of these classes.
func (f *Fixture) WantClass(err error, classes ...cloud.Class) {
	f.Helper()
	if err == nil || !slices.Contains(classes, cloud.ClassOf(err)) {
		f.Fatalf("class %q of error %v, want one of %q", cloud.ClassOf(err), err, classes)
	}
}

// Sent returns how many requests a call sends.
func (f *Fixture) Sent(call func()) int {
	before := f.Script.Count(faults.OpAny)
	call()
	return f.Script.Count(faults.OpAny) - before
}

// Sign signs one request and fails the test on an error.
func (f *Fixture) Sign(objects cloud.ObjectStore, method, key string) cloud.SignedRequest {
	f.Helper()
	signed, err := objects.SignRequests(f.Context(), []cloud.ObjectRequest{{Method: method, Key: key}}, 10*time.Minute)
	if err != nil || len(signed) != 1 {
		f.Fatalf("signing a %s of %q: %d requests, %v", method, key, len(signed), err)
	}
	return signed[0]
}

// Do sends a signed request without credentials, and returns the status and the body.
func (f *Fixture) Do(signed cloud.SignedRequest, content string) (int, string) {
	f.Helper()
	var body io.Reader
	if signed.Method == http.MethodPut {
		body = bytes.NewReader([]byte(content))
	}
	r, err := http.NewRequestWithContext(f.Context(), signed.Method, signed.URL, body)
	if err != nil {
		f.Fatalf("building the signed request: %v", err)
	}
	for name, value := range signed.Header {
		r.Header.Set(name, value)
	}
	response, err := f.Send(r)
	if err != nil {
		f.Fatalf("sending a signed %s: %v", signed.Method, err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		f.Fatalf("reading the response to a signed %s: %v", signed.Method, err)
	}
	return response.StatusCode, string(answer)
}

// WantDone fails unless a signed request succeeds.
func (f *Fixture) WantDone(signed cloud.SignedRequest, content string) string {
	f.Helper()
	status, answer := f.Do(signed, content)
	if status/100 != 2 {
		f.Fatalf("status %d to a signed %s: %s", status, signed.Method, answer)
	}
	return answer
}

// WantRefused fails unless a signed request is refused for another reason than a missing
// object.
func (f *Fixture) WantRefused(signed cloud.SignedRequest, content, why string) {
	f.Helper()
	if status, answer := f.Do(signed, content); status/100 != 4 || status == http.StatusNotFound {
		f.Errorf("%s: status %d to a signed %s, want a refusal: %s", why, status, signed.Method, answer)
	}
}

// keepSecret records the queries of signed URLs, which must not appear in errors.
func (f *Fixture) keepSecret(signed []cloud.SignedRequest) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range signed {
		if u, err := url.Parse(r.URL); err == nil && u.RawQuery != "" {
			f.signed = append(f.signed, u.RawQuery)
		}
	}
}

// recorded records the errors of an ObjectStore.
type recorded struct {
	cloud.ObjectStore

	s *Fixture
}

func (r recorded) SignRequests(ctx context.Context, wanted []cloud.ObjectRequest, life time.Duration) ([]cloud.SignedRequest, error) {
	got, err := r.ObjectStore.SignRequests(ctx, wanted, life)
	r.s.keepSecret(got)
	return got, r.s.recorder.Record(err)
}

func (r recorded) PutObject(ctx context.Context, key string, content []byte) error {
	return r.s.recorder.Record(r.ObjectStore.PutObject(ctx, key, content))
}

func (r recorded) GetObject(ctx context.Context, key string, limit int64) ([]byte, error) {
	return fixture.Result[[]byte](&r.s.recorder)(r.ObjectStore.GetObject(ctx, key, limit))
}

func (r recorded) ListObjects(ctx context.Context, below string) iter.Seq2[cloud.Object, error] {
	return fixture.Items(&r.s.recorder, r.ObjectStore.ListObjects(ctx, below))
}

func (r recorded) DeleteObject(ctx context.Context, key string) error {
	return r.s.recorder.Record(r.ObjectStore.DeleteObject(ctx, key))
}
