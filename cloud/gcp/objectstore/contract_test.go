package objectstore

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	realclock "k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/googleapi"
	suite "github.com/shopfleet/shopfleet/cloud/cloudtest/objectstore"
	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
	"github.com/shopfleet/shopfleet/cloud/fake/gce"
	"github.com/shopfleet/shopfleet/cloud/fake/gcs"
	"github.com/shopfleet/shopfleet/cloud/fake/iam"
	"github.com/shopfleet/shopfleet/cloud/gcp/identity"
)

func TestContract(t *testing.T) {
	t.Parallel()
	shared := prepare(t)
	suite.Run(t, func(t testing.TB) *suite.Backend {
		t.Helper()
		return newTestEnv(t, shared, gcs.Options{}).backend()
	})
}

const (
	project = "shop-prod"
	email   = "hub@shop-prod.iam.gserviceaccount.com"
	dumps   = "shop-dumps"
	// elsewhere is the address of the token service in a key that was made before the server.
	elsewhere = "http://127.0.0.1:1/token"
)

// preparation is made once: that takes longer than most cases.
type preparation struct {
	api *googleapi.API
	// ours is the key of the service account, wrong another that it never had.
	ours, wrong []byte
	add         func(*gce.Server)
}

func prepare(t testing.TB) preparation {
	t.Helper()
	api, err := googleapi.Load(t.Context(), "storage")
	if err != nil {
		t.Fatal(err)
	}
	p := preparation{api: api}
	for _, file := range []*[]byte{&p.wrong, &p.ours} {
		made, public, err := gce.NewKey(email, project, elsewhere)
		if err != nil {
			t.Fatal(err)
		}
		*file = made
		p.add = func(s *gce.Server) { s.AddServiceAccount(email, public, project) }
	}
	return p
}

// testEnv is a fake of Cloud Storage with a client for it.
type testEnv struct {
	preparation

	clock  *testclock.FakeClock
	store  *bucket.Store
	tokens *gce.Server
	server *gcs.Server
	url    string
	script *faults.Script
}

func newTestEnv(t testing.TB, p preparation, options gcs.Options) *testEnv {
	t.Helper()
	clock := testclock.NewFakeClock(realclock.RealClock{}.Now()) // By which the SDK computes the expiry of tokens.
	e := &testEnv{preparation: p, clock: clock, store: bucket.NewStore(clock), script: &faults.Script{}}
	e.tokens = gce.New(fake.NewCloud(clock), gce.Options{Clock: clock})
	p.add(e.tokens)
	options.Clock, options.Bucket, options.Tokens, options.Foreign = clock, dumps, e.tokens, "dumps-of-others"
	options.Permissions = documented(t)
	e.server = gcs.New(e.store, options)
	http := httptest.NewServer(e.server)
	t.Cleanup(http.Close)
	e.url = http.URL
	return e
}

// documented returns the permissions that cloud/README.md tells to grant on the bucket.
func documented(t testing.TB) iam.Permissions {
	t.Helper()
	page, err := iam.Read("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	permissions, err := page.GoogleBucket()
	if err != nil {
		t.Fatal(err)
	}
	return permissions
}

// transport sends requests as the script wants it. What the server answers is compared
// with Google's description.
func (e *testEnv) transport(t testing.TB, next http.RoundTripper) http.RoundTripper {
	t.Helper()
	checked := identity.RoundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(r.URL.Path, "/storage/v1/") || r.URL.Query().Get("alt") == "media" {
			return response, err
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil {
			return nil, err
		}
		if err := e.api.Answer(r.Method, r.URL.EscapedPath(), body); err != nil {
			t.Errorf("%s %s: the fake's answer is not as Google describes it: %v\n%s", r.Method, r.URL.Path, err, body)
		}
		response.Body = io.NopCloser(bytes.NewReader(body))
		return response, nil
	})
	return &faults.Transport{Next: checked, Classify: classifyRequest, Script: e.script, Clock: e.clock}
}

// config returns the configuration of an account with the key of a service account.
func (e *testEnv) config(t testing.TB) cloud.Config {
	t.Helper()
	return cloud.Config{
		Account: "google", Secret: e.secret(e.ours),
		Spec: v1.CloudAccountSpec{
			Provider: v1.ProviderGCP, GCP: &v1.GCPAccount{Project: project},
			Credentials:   v1.CloudCredentials{Type: v1.CredentialsSecret},
			ObjectStorage: &v1.ObjectStorage{Bucket: dumps, Endpoint: e.url},
		},
		HTTP: &http.Client{Transport: e.transport(t, http.DefaultTransport)}, Clock: e.clock,
	}
}

// secret returns the data of an account's Secret.
func (e *testEnv) secret(key []byte) map[string][]byte {
	return map[string][]byte{"serviceAccountKey": bytes.ReplaceAll(key, []byte(elsewhere), []byte(e.url+"/token"))}
}

func open(t testing.TB, config cloud.Config) cloud.ObjectStore {
	t.Helper()
	objects, err := Open(t.Context(), config)
	if err != nil {
		t.Fatalf("opening: %v", err)
	}
	return objects
}

func (e *testEnv) backend() *suite.Backend {
	return &suite.Backend{
		Provider: v1.ProviderGCP, Clock: e.clock, Store: e.store, Script: e.script,
		Open:     e.open,
		Send:     http.DefaultTransport.RoundTrip,
		Refusal:  refusal,
		PageSize: e.server.SetPageSize,
		Validate: func(call faults.Call) error { return e.api.Request(call.Request) },
		Refused:  e.server.Refused,
		Secrets:  []string{"PRIVATE KEY", "ya29.", "eyJ"},
		Unsupported: map[int]string{
			68: "Google sets the lifetime of its tokens: see TestTokensExpire",
		},
	}
}

// open makes Objects as a case wants them.
func (e *testEnv) open(t testing.TB, o suite.Options) (cloud.ObjectStore, error) {
	t.Helper()
	config := e.config(t)
	storage := config.Spec.ObjectStorage
	storage.Prefix = o.Prefix
	if o.BadCredentials {
		config.Secret = e.secret(e.wrong)
	}
	if o.Foreign {
		storage.Bucket = "dumps-of-others"
	}
	if o.Missing {
		storage.Bucket = "shop-none"
	}
	if o.TLS {
		server := httptest.NewTLSServer(e.server)
		t.Cleanup(server.Close)
		storage.Endpoint = server.URL
		trusted := x509.NewCertPool()
		if o.Trusted {
			trusted.AddCert(server.Certificate())
		}
		config.HTTP.Transport = e.transport(t, &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}})
	}
	if !o.Elsewhere {
		return Open(t.Context(), config)
	}
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	storage.Endpoint = server.URL
	made, err := Open(t.Context(), config)
	if err == nil { // It has a token, which costs a request of its own.
		_ = made.DeleteObject(t.Context(), "none")
	}
	return made, err
}

// classifyRequest returns the operation of the suite that a request belongs to.
func classifyRequest(r *http.Request, _ []byte) faults.Op {
	path := r.URL.EscapedPath()
	_, object, named := strings.Cut(path, "/o/")
	switch {
	case !strings.Contains(path, "/storage/v1/b/"):
		return faults.OpOther
	case r.Method == http.MethodPost:
		return faults.OpPutObject
	case r.Method == http.MethodDelete && named && object != "":
		return faults.OpDeleteObject
	case r.Method == http.MethodGet && named:
		return faults.OpGetObject
	case r.Method == http.MethodGet:
		return faults.OpListObjects
	default:
		return faults.OpOther
	}
}

func refused(status int, reason, message string, after time.Duration) faults.Answer {
	answer := faults.Answer{Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: gcs.ErrorBody(status, reason, message)}
	if after > 0 {
		answer.Header.Set("Retry-After", strconv.Itoa(int(after.Seconds())))
	}
	return answer
}

// refusal returns Google's response for an error of a class.
func refusal(class cloud.Class, op faults.Op, after time.Duration) faults.Answer {
	permission := map[faults.Op]string{
		faults.OpPutObject: "storage.objects.create", faults.OpGetObject: "storage.objects.get",
		faults.OpListObjects: "storage.objects.list", faults.OpDeleteObject: "storage.objects.delete",
	}[op]
	switch class {
	case cloud.ClassThrottled:
		return refused(http.StatusTooManyRequests, "rateLimitExceeded", "The object dumps/o exceeded the rate limit for object mutation operations.", after)
	case cloud.ClassDenied:
		return refused(http.StatusForbidden, "forbidden", "hub does not have "+permission+" access to the Google Cloud Storage object. Permission '"+permission+"' denied on resource (or it may not exist).", after)
	case cloud.ClassAuthExpired:
		return refused(http.StatusUnauthorized, "authError", "Invalid Credentials", after)
	case cloud.ClassNotFound:
		return refused(http.StatusNotFound, "notFound", "No such object: shop-dumps/o", after)
	case cloud.ClassInvalid:
		return refused(http.StatusBadRequest, "invalid", "Invalid argument.", after)
	default:
		return refused(http.StatusServiceUnavailable, "backendError", "We encountered an internal error. Please try again.", after)
	}
}
