package accounts

import (
	"context"
	"encoding/pem"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

// open remembers what a bucket was opened with.
func (e *environment) open(_ context.Context, c cloud.Config) (cloud.ObjectStore, error) {
	e.opened = append(e.opened, c)
	if string(c.Secret["accessKeyID"]) == "bad" {
		return nil, &cloud.Error{Class: cloud.ClassInvalid, Code: "BadKey", Message: "no such key"}
	}
	return objects{}, nil
}

// objects are none, and take everything.
type objects struct{}

func (objects) SignRequests(context.Context, []cloud.ObjectRequest, time.Duration) ([]cloud.SignedRequest, error) {
	return nil, nil
}
func (objects) PutObject(context.Context, string, []byte) error          { return nil }
func (objects) GetObject(context.Context, string, int64) ([]byte, error) { return nil, nil }
func (objects) ListObjects(context.Context, string) iter.Seq2[cloud.Object, error] {
	return func(func(cloud.Object, error) bool) {}
}
func (objects) DeleteObject(context.Context, string) error { return nil }

func withBucket(change ...func(*v1.ObjectStorage)) v1.CloudAccountSpec {
	s := spec("eu-west-1")
	s.ObjectStorage = &v1.ObjectStorage{Bucket: "dumps", Prefix: "prod/shops", Region: "eu-central-1"}
	for _, c := range change {
		c(s.ObjectStorage)
	}
	return s
}

func TestABucketIsKeptUntilTheAccountChanges(t *testing.T) {
	t.Parallel()
	s := newEnvironment()
	s.Set("a", withBucket(), map[string][]byte{"accessKeyID": []byte("k")})
	bucket := func() Bucket {
		t.Helper()
		b := s.bucket(t)
		b.ObjectStore = nil
		return b
	}
	want := Bucket{Name: "dumps", Prefix: "prod/shops", Provider: v1.ProviderAWS, Location: "/dumps/prod/shops at aws:"}
	for range 2 {
		if diff := cmp.Diff(want, bucket()); diff != "" {
			t.Errorf("bucket (-want +got):\n%s", diff)
		}
	}
	if len(s.opened) != 1 || s.opened[0].Account != "a" || string(s.opened[0].Secret["accessKeyID"]) != "k" {
		t.Errorf("opened with %v, want once with the account's key", s.opened)
	}
	s.Set("a", withBucket(func(o *v1.ObjectStorage) { o.Bucket = "other" }), nil)
	if got := bucket().Name; got != "other" || len(s.opened) != 2 {
		t.Errorf("after a change the bucket is %q, opened %d times", got, len(s.opened))
	}
}

func TestRefusedBuckets(t *testing.T) {
	t.Parallel()
	s := newEnvironment()
	s.Set("none", spec(), nil)
	s.Set("bad", withBucket(), map[string][]byte{"accessKeyID": []byte("bad")})
	gcp := v1.CloudAccountSpec{
		Provider: v1.ProviderGCP, GCP: &v1.GCPAccount{Project: "shops-prod"}, ObjectStorage: &v1.ObjectStorage{Bucket: "dumps"},
	}
	s.Set("unbuilt", gcp, nil)
	s.Set("no PEM", withBucket(func(o *v1.ObjectStorage) {
		o.Endpoint, o.CABundle = "https://s3.example.com", []byte("trust me")
	}), nil)
	tests := map[string]struct {
		account string
		class   cloud.Class
		code    string
		says    string
	}{
		"no account":        {"unknown", cloud.ClassNotFound, CodeUnknownAccount, `"unknown"`},
		"no bucket":         {"none", cloud.ClassUnsupported, CodeNoBucket, "spec.objectStorage"},
		"not built":         {"unbuilt", cloud.ClassInvalid, CodeProviderMissing, "gcp"},
		"bad configuration": {"bad", cloud.ClassInvalid, CodeInvalidBucket, "no such key"},
		"no PEM":            {"no PEM", cloud.ClassInvalid, CodeInvalidBucket, "spec.objectStorage.caBundle contains no PEM certificate"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := s.Bucket(t.Context(), tt.account)
			var e *cloud.Error
			if !errors.As(err, &e) || e.Class != tt.class || e.Code != tt.code || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want %s (%s) with %q", err, tt.class, tt.code, tt.says)
			}
		})
	}
}

// TestABucketIsPacedByItself checks that requests above the limit of a bucket fail with the time to wait,
// independently of the account's sessions and of changes of the account.
func TestABucketIsPacedByItself(t *testing.T) {
	t.Parallel()
	calls := map[string]struct {
		atOnce int
		call   func(context.Context, cloud.ObjectStore) error
	}{
		"SignRequests": {readsAtOnce, func(ctx context.Context, o cloud.ObjectStore) error {
			_, err := o.SignRequests(ctx, nil, time.Minute)
			return err
		}},
		"GetObject": {readsAtOnce, func(ctx context.Context, o cloud.ObjectStore) error {
			_, err := o.GetObject(ctx, "k", 1)
			return err
		}},
		"ListObjects": {readsAtOnce, func(ctx context.Context, o cloud.ObjectStore) error {
			for _, err := range o.ListObjects(ctx, "k") {
				return err
			}
			return nil
		}},
		"PutObject":    {changesAtOnce, func(ctx context.Context, o cloud.ObjectStore) error { return o.PutObject(ctx, "k", nil) }},
		"DeleteObject": {changesAtOnce, func(ctx context.Context, o cloud.ObjectStore) error { return o.DeleteObject(ctx, "k") }},
	}
	for name, tt := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newEnvironment()
			s.Set("a", withBucket(), nil)
			call := func() error { return tt.call(t.Context(), s.bucket(t)) }
			for range tt.atOnce {
				if err := call(); err != nil {
					t.Fatal(err)
				}
			}
			s.Set("a", withBucket(func(o *v1.ObjectStorage) { o.Prefix = "other" }), nil)
			err := call()
			e, _ := errors.AsType[*cloud.Error](err)
			if e == nil || e.Class != cloud.ClassThrottled || e.Op != name || e.RetryAfter < time.Second {
				t.Errorf("one too many: %v, want %s Throttled", err, name)
			}
			s.expectSession(t)
			s.clock.Step(time.Second)
			if err := call(); err != nil {
				t.Errorf("a second later: %v", err)
			}
		})
	}
}

// bucket returns the bucket of account a.
func (e *environment) bucket(t *testing.T) Bucket {
	t.Helper()
	b, err := e.Bucket(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// expectSession expects that a session of account a may call.
func (e *environment) expectSession(t *testing.T) {
	t.Helper()
	session, err := e.Session(t.Context(), "a", "eu-west-1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Access.Identity(t.Context()); err != nil {
		t.Errorf("a session of the account: %v", err)
	}
}

// TestACABundleIsForItsEndpoint checks that a CA bundle is used for its endpoint alone.
func TestACABundleIsForItsEndpoint(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	tests := map[string]struct {
		endpoint string
		bundle   []byte
		ok       bool
	}{
		"its endpoint":     {server.URL, bundle, true},
		"another endpoint": {"https://s3.example.com", bundle, false},
		"no bundle":        {server.URL, nil, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newEnvironment()
			s.Set("a", withBucket(func(o *v1.ObjectStorage) { o.Endpoint, o.CABundle = tt.endpoint, tt.bundle }), nil)
			b, err := s.Bucket(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			if string(b.CABundle) != string(tt.bundle) {
				t.Error("the bundle is not the account's")
			}
			if _, err := s.Session(t.Context(), "a", "eu-west-1"); err != nil {
				t.Fatal(err)
			}
			if err := get(t, s.opened[0], server.URL); (err == nil) != tt.ok {
				t.Errorf("the bucket's request: %v, want success %t", err, tt.ok)
			}
			if err := get(t, s.connected[0], server.URL); err == nil {
				t.Error("a session trusts the bundle")
			}
		})
	}
}

func TestWhatIsBelowTheEndpointIsTheEndpoint(t *testing.T) {
	t.Parallel()
	via := func(way string) http.RoundTripper {
		return roundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New(way) })
	}
	b := byHost{host: "s3.example.com", toHost: via("there"), other: via("elsewhere")}
	for url, want := range map[string]string{
		"https://s3.example.com/dumps":       "there",
		"https://dumps.s3.example.com:9000/": "there",
		"https://sts.example.com/":           "elsewhere",
		"https://nots3.example.com/":         "elsewhere",
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.RoundTrip(r); err == nil || err.Error() != want { //nolint:bodyclose // There is none.
			t.Errorf("%s went %v, want %s", url, err, want)
		}
	}
}

// TestABucketsRequestsAreCounted checks that the counter of the account counts the requests to its bucket.
func TestABucketsRequestsAreCounted(t *testing.T) {
	t.Parallel()
	s, counter := newEnvironment(), NewRequests()
	a := New(Options{
		Clock: s.clock, Buckets: cloud.Buckets{v1.ProviderAWS: s.open}, Requests: counter,
		HTTP: roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody}, nil
		}),
	})
	a.Set("a", withBucket(), nil)
	if _, err := a.Bucket(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if err := get(t, s.opened[0], "https://s3.example.com"); err != nil {
		t.Fatal(err)
	}
	if got := testutil.ToFloat64(counter.WithLabelValues("aws", "a", "403")); got != 1 {
		t.Errorf("counted %v, want 1", got)
	}
}

// TestABucketHasWhatWasSentThere checks that a bucket does not count dumps that were sent to another one of the same
// name.
func TestABucketHasWhatWasSentThere(t *testing.T) {
	t.Parallel()
	at := func(change func(*v1.ObjectStorage)) string {
		s := &v1.ObjectStorage{Bucket: "dumps", Prefix: "shops", StorageAccount: "one", Endpoint: "https://s3.example.com/"}
		change(s)
		return location(v1.ProviderAWS, s)
	}
	b := Bucket{Name: "dumps", Location: at(func(*v1.ObjectStorage) {})}
	for name, o := range map[string]v1.DumpObject{
		"another bucket":   {Bucket: "others", Location: b.Location},
		"another prefix":   {Bucket: "dumps", Location: at(func(s *v1.ObjectStorage) { s.Prefix = "" })},
		"another account":  {Bucket: "dumps", Location: at(func(s *v1.ObjectStorage) { s.StorageAccount = "two" })},
		"another endpoint": {Bucket: "dumps", Location: at(func(s *v1.ObjectStorage) { s.Endpoint = "" })},
	} {
		if b.Has(&o) {
			t.Errorf("%s: %q is at %q", name, o.Location, b.Location)
		}
	}
	for _, o := range []v1.DumpObject{{Bucket: "dumps"}, {Bucket: "dumps", Location: at(func(s *v1.ObjectStorage) { s.CABundle = []byte("new") })}} {
		if !b.Has(&o) {
			t.Errorf("%q is not at %q", o.Location, b.Location)
		}
	}
}
