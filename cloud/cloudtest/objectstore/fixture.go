package objectstore

import (
	"bytes"
	"context"
	"errors"
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

// prefix is that of the account in most cases.
const prefix = "backups/eu"

// Fixture is a backend with the case that runs on it.
type Fixture struct {
	testing.TB
	*Backend

	mu     sync.Mutex
	errors []error
	signed []string // What is secret of the requests that were signed.
}

// newStand makes a stand. What is true of all requests and errors is checked when the
// test ends.
func newStand(t testing.TB, build func(testing.TB) *Backend) *Fixture {
	t.Helper()
	s := &Fixture{TB: t, Backend: build(t)}
	t.Cleanup(s.check)
	return s
}

func (s *Fixture) check() {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, err := range s.errors {
		fixture.CheckError(s, s.Provider, slices.Concat(s.Secrets, s.signed), err)
	}
	if s.Validate == nil {
		return
	}
	for _, call := range s.Script.Calls() {
		if err := s.Validate(call); err != nil {
			s.Errorf("a request of %s that the vendor's description does not allow: %v\n%s", call.Op, err, call.Request)
		}
	}
}

// Objects are new ones, as after a restart. All that they answer is looked at.
func (s *Fixture) Objects(o Options) cloud.Objects {
	s.Helper()
	opened, err := s.Open(s, o)
	if err != nil {
		s.Fatalf("opening the bucket: %v", err)
	}
	return watched{opened, s}
}

// Mine are those of the account of most cases.
func (s *Fixture) Mine() cloud.Objects {
	s.Helper()
	return s.Objects(Options{Prefix: prefix})
}

// Put is PutObject that must not fail.
func (s *Fixture) Put(objects cloud.Objects, key, content string) {
	s.Helper()
	if err := objects.PutObject(s.Context(), key, []byte(content)); err != nil {
		s.Fatalf("putting %q: %v", key, err)
	}
}

// List reads a list up to its end, and what comes after an error, which must be nothing.
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

// WantList fails unless a list has some keys, in their order.
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

// WantContent fails unless the bucket really has an object of a content.
func (s *Fixture) WantContent(key, want string) {
	s.Helper()
	got, ok := s.Store.Content(key)
	if !ok || string(got) != want {
		s.Fatalf("the bucket has %t, with %d bytes, under %q; want %d bytes, or they differ", ok, len(got), key, len(want))
	}
}

// WantKeys fails unless the bucket really has some keys and no others.
func (s *Fixture) WantKeys(want ...string) {
	s.Helper()
	if diff := cmp.Diff(append([]string{}, want...), append([]string{}, s.Store.Keys()...)); diff != "" {
		s.Fatalf("keys in the bucket (-want +got):\n%s", diff)
	}
}

// WantClass fails unless an error is of one of some classes.
func (s *Fixture) WantClass(err error, classes ...cloud.Class) {
	s.Helper()
	if err == nil || !slices.Contains(classes, cloud.ClassOf(err)) {
		s.Fatalf("class %q of error %v, want one of %q", cloud.ClassOf(err), err, classes)
	}
}

// Sent is how many requests of Objects a call sends.
func (s *Fixture) Sent(call func()) int {
	before := s.Script.Count(faults.OpAny)
	call()
	return s.Script.Count(faults.OpAny) - before
}

// Sign signs one request, which must not fail.
func (s *Fixture) Sign(objects cloud.Objects, method, key string) cloud.SignedRequest {
	s.Helper()
	signed, err := objects.SignRequests(s.Context(), []cloud.ObjectRequest{{Method: method, Key: key}}, 10*time.Minute)
	if err != nil || len(signed) != 1 {
		s.Fatalf("signing a %s of %q: %d requests, %v", method, key, len(signed), err)
	}
	return signed[0]
}

// Do is a stranger who sends a signed request; it returns the status and the answer.
func (s *Fixture) Do(signed cloud.SignedRequest, content string) (int, string) {
	s.Helper()
	var body io.Reader
	if signed.Method == http.MethodPut {
		body = bytes.NewReader([]byte(content))
	}
	r, err := http.NewRequestWithContext(s.Context(), signed.Method, signed.URL, body)
	if err != nil {
		s.Fatal("a signed request is none at all")
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
		s.Fatalf("reading the answer to a signed %s: %v", signed.Method, err)
	}
	return response.StatusCode, string(answer)
}

// WantDone fails unless a stranger's request is carried out.
func (s *Fixture) WantDone(signed cloud.SignedRequest, content string) string {
	s.Helper()
	status, answer := s.Do(signed, content)
	if status/100 != 2 {
		s.Fatalf("status %d to a signed %s: %s", status, signed.Method, answer)
	}
	return answer
}

// WantRefused fails unless a stranger's request is refused, and not for want of an object.
func (s *Fixture) WantRefused(signed cloud.SignedRequest, content, why string) {
	s.Helper()
	if status, answer := s.Do(signed, content); status/100 != 4 || status == http.StatusNotFound {
		s.Errorf("%s: status %d to a signed %s, want a refusal: %s", why, status, signed.Method, answer)
	}
}

// CancelDuring makes a call, and cancels it when a request of an operation hangs.
func (s *Fixture) CancelDuring(op faults.Op, call func(context.Context) error) error {
	s.Helper()
	began, ended := make(chan struct{}), make(chan error, 1)
	var once sync.Once
	s.Script.Chance(func(asked faults.Op) (faults.Fault, bool) {
		hangs := false
		if asked == op {
			once.Do(func() { hangs = true; close(began) })
		}
		return faults.Fault{Kind: faults.Hang}, hangs
	})
	defer s.Script.Clear()
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	go func() { ended <- call(ctx) }()
	select {
	case <-began:
	case err := <-ended:
		s.Fatalf("%s was not asked for: %v", op, err)
	}
	cancel()
	return <-ended
}

func (s *Fixture) saw(err error) {
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.errors = append(s.errors, err)
	}
}

// keepSecret takes note of what must be in no error.
func (s *Fixture) keepSecret(signed []cloud.SignedRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range signed {
		if u, err := url.Parse(r.URL); err == nil && u.RawQuery != "" {
			s.signed = append(s.signed, u.RawQuery)
		}
	}
}

// watched sees all that Objects answer.
type watched struct {
	cloud.Objects

	s *Fixture
}

func (o watched) SignRequests(ctx context.Context, wanted []cloud.ObjectRequest, life time.Duration) ([]cloud.SignedRequest, error) {
	got, err := o.Objects.SignRequests(ctx, wanted, life)
	o.s.saw(err)
	o.s.keepSecret(got)
	return got, err
}

func (o watched) PutObject(ctx context.Context, key string, content []byte) error {
	err := o.Objects.PutObject(ctx, key, content)
	o.s.saw(err)
	return err
}

func (o watched) GetObject(ctx context.Context, key string, limit int64) ([]byte, error) {
	got, err := o.Objects.GetObject(ctx, key, limit)
	o.s.saw(err)
	return got, err
}

func (o watched) ListObjects(ctx context.Context, below string) iter.Seq2[cloud.Object, error] {
	return func(yield func(cloud.Object, error) bool) {
		for object, err := range o.Objects.ListObjects(ctx, below) {
			o.s.saw(err)
			if !yield(object, err) {
				return
			}
		}
	}
}

func (o watched) DeleteObject(ctx context.Context, key string) error {
	err := o.Objects.DeleteObject(ctx, key)
	o.s.saw(err)
	return err
}

// codeOf is the code of an error of a cloud.
func codeOf(err error) string {
	if e, ok := errors.AsType[*cloud.Error](err); ok {
		return e.Code
	}
	return ""
}
