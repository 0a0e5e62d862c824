package objectstore

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/objectstore"
	"github.com/shopfleet/shopfleet/cloud/fake/blob"
	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
	"github.com/shopfleet/shopfleet/cloud/fake/iam"
)

const (
	storage     = "shopbackups"
	dumps       = "dumps"
	tenant      = "22222220-0000-4000-8000-000000000000"
	client      = "33333330-0000-4000-8000-000000000000"
	goodPhrase  = "s3cr~et.VALUE"
	wrongPhrase = "wr0ng~VALUE"
	subject     = "system:serviceaccount:shopfleet-system:shopfleet-hub"
)

// testEnv is a fake of the service with a script in front of it.
type testEnv struct {
	clock  *testclock.FakeClock
	store  *bucket.Store
	script *faults.Script
	server *blob.Server
	http   *httptest.Server
}

func newTestEnv(t testing.TB) *testEnv {
	t.Helper()
	return newTestEnvAt(t, time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC))
}

// newTestEnvAt returns one whose clock starts at a time. The SDK computes the expiry of tokens by the machine's clock.
func newTestEnvAt(t testing.TB, began time.Time) *testEnv {
	t.Helper()
	s := &testEnv{clock: testclock.NewFakeClock(began), script: &faults.Script{}}
	s.store = bucket.NewStore(s.clock)
	account := blob.Account{
		Name: storage, Tenant: tenant, ClientID: client, ClientSecret: goodPhrase, Subject: subject,
		Containers: map[string]*bucket.Store{dumps: s.store}, Foreign: "dumps-of-others",
	}
	// The SDK takes the account's name from the host.
	asHost := account
	asHost.Name = "127"
	s.server = blob.New(blob.Options{Clock: s.clock, Accounts: []blob.Account{account, asHost}, Role: documented(t)})
	s.http = httptest.NewServer(s.server)
	t.Cleanup(s.http.Close)
	return s
}

// documented returns the permissions of the roles that cloud/README.md tells users to grant.
func documented(t testing.TB) *iam.Role {
	t.Helper()
	page, err := iam.Read("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	role, err := page.AzureBucket()
	if err != nil {
		t.Fatal(err)
	}
	return role
}

// config returns the configuration of an account with its client secret.
func (e *testEnv) config() cloud.Config {
	return cloud.Config{
		Account: "azure",
		Spec: v1.CloudAccountSpec{
			Provider: v1.ProviderAzure, Credentials: v1.CloudCredentials{Type: v1.CredentialsSecret},
			Azure:         &v1.AzureAccount{TenantID: tenant, ClientID: client},
			ObjectStorage: &v1.ObjectStorage{Bucket: dumps, StorageAccount: storage, Endpoint: e.http.URL + "/" + storage},
		},
		Secret: map[string][]byte{"clientSecret": []byte(goodPhrase)},
		HTTP:   &http.Client{Transport: e.scripted(e.http.Client().Transport)},
		Clock:  e.clock,
	}
}

func (e *testEnv) scripted(next http.RoundTripper) http.RoundTripper {
	return undiscovered(next, &faults.Transport{Next: next, Classify: classify, Script: e.script, Clock: e.clock})
}

// undiscovered sends the SDK's requests for the address of the token service past a script.
func undiscovered(next, script http.RoundTripper) http.RoundTripper {
	return transport(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, discovery) {
			return next.RoundTrip(r)
		}
		return script.RoundTrip(r)
	})
}

// discovery is the end of the path at which the SDK asks for the address of the token service.
const discovery = "/.well-known/openid-configuration"

// discovered answers a request for the address of the token service.
func discovered(r *http.Request) string {
	base := "https://" + r.Host + strings.TrimSuffix(r.URL.Path, "/v2.0"+discovery)
	return fmt.Sprintf(`{"issuer":"%[1]s/v2.0","token_endpoint":"%[1]s/oauth2/v2.0/token","authorization_endpoint":"%[1]s/oauth2/v2.0/authorize"}`, base)
}

func (e *testEnv) open(t testing.TB, change func(*cloud.Config)) cloud.ObjectStore {
	t.Helper()
	config := e.config()
	if change != nil {
		change(&config)
	}
	opened, err := Open(t.Context(), config)
	if err != nil {
		t.Fatalf("opening: %v", err)
	}
	return opened
}

// classify returns the suite's operation of a request.
func classify(r *http.Request, _ []byte) faults.Op {
	switch {
	case strings.Contains(r.URL.Path, "/oauth2/"), strings.HasSuffix(r.URL.Path, discovery):
		return faults.OpOther
	case r.Method == http.MethodPut:
		return faults.OpPutObject
	case r.Method == http.MethodDelete:
		return faults.OpDeleteObject
	case r.URL.Query().Get("comp") == "list":
		return faults.OpListObjects
	case r.Method == http.MethodGet:
		return faults.OpGetObject
	}
	return faults.OpOther
}

func newBackend(t testing.TB) *objectstore.Backend {
	t.Helper()
	s := newTestEnv(t)
	return &objectstore.Backend{
		Provider: v1.ProviderAzure, Clock: s.clock, Store: s.store, Script: s.script,
		Open: func(t testing.TB, o objectstore.Options) (cloud.ObjectStore, error) {
			t.Helper()
			config := s.config()
			s.configure(t, &config, o)
			return Open(t.Context(), config)
		},
		Send: s.http.Client().Do, Refusal: refusalOf, PageSize: s.server.SetPageSize,
		Refused:            s.server.Refused,
		ValidateSkipReason: "azblob has no fake server; TestPeers sends the requests to Microsoft's emulator",
		Secrets:            []string{goodPhrase, wrongPhrase, "eyJ", "sig="},
	}
}

func (e *testEnv) configure(t testing.TB, c *cloud.Config, o objectstore.Options) {
	t.Helper()
	of := c.Spec.ObjectStorage
	of.Prefix = o.Prefix
	if o.BadCredentials {
		c.Secret = map[string][]byte{"clientSecret": []byte(wrongPhrase)}
	}
	if o.Foreign {
		of.Bucket = "dumps-of-others"
	}
	if o.Missing {
		of.Bucket = "missing"
	}
	if o.Elsewhere {
		nowhere := httptest.NewServer(http.NotFoundHandler())
		t.Cleanup(nowhere.Close)
		of.Endpoint, c.Endpoint = nowhere.URL, of.Endpoint
		// Requests for tokens succeed, and are not counted.
		direct, scripted := e.http.Client().Transport, c.HTTP.Transport
		c.HTTP = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			if classify(r, nil) == faults.OpOther {
				return direct.RoundTrip(r)
			}
			return scripted.RoundTrip(r)
		})}
	}
	if o.TLS {
		secure := httptest.NewTLSServer(e.server)
		t.Cleanup(secure.Close)
		of.Endpoint = secure.URL + "/" + storage
		if o.Trusted {
			c.HTTP = &http.Client{Transport: e.scripted(secure.Client().Transport)}
		}
	}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// refusalOf returns the service's response of a class.
func refusalOf(class cloud.Class, op faults.Op, after time.Duration) faults.Answer {
	switch class {
	case cloud.ClassNotFound:
		return answered(http.StatusNotFound, "BlobNotFound", after)
	case cloud.ClassConflict:
		return answered(http.StatusConflict, "BlobAlreadyExists", after)
	case cloud.ClassThrottled:
		return answered(http.StatusServiceUnavailable, "ServerBusy", after)
	case cloud.ClassDenied:
		if op == faults.OpOther { // A token, mostly.
			return faults.Answer{Status: http.StatusUnauthorized, Body: `{"error":"unauthorized_client","error_codes":[700016],"error_description":"AADSTS700016: Application was not found."}`}
		}
		return answered(http.StatusForbidden, "AuthorizationPermissionMismatch", after)
	case cloud.ClassAuthExpired:
		return answered(http.StatusUnauthorized, "InvalidAuthenticationInfo", after)
	case cloud.ClassInvalid:
		return answered(http.StatusBadRequest, "InvalidInput", after)
	case cloud.ClassLocked:
		return answered(http.StatusConflict, "BlobImmutableDueToPolicy", after)
	default:
		return answered(http.StatusInternalServerError, "InternalError", after)
	}
}

func answered(status int, code string, after time.Duration) faults.Answer {
	a := faults.Answer{
		Status: status, Body: blob.ErrorBody(code, "the service says "+code+"\nRequestId:1-2-3\nTime:now"),
		Header: http.Header{"Content-Type": {"application/xml"}, "X-Ms-Error-Code": {code}, "X-Ms-Request-Id": {"1-2-3"}},
	}
	if after > 0 {
		a.Header.Set("Retry-After", fmt.Sprint(int(after.Seconds())))
	}
	return a
}
