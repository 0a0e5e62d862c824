package objectstore

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/azure/identity"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
)

// both returns one request to put and one to get.
func both() []cloud.ObjectRequest {
	return []cloud.ObjectRequest{{Method: http.MethodPut, Key: "dump/part-00000"}, {Method: http.MethodGet, Key: "dump/part-00000"}}
}

// send sends a signed request, to another host if one is given.
func send(t *testing.T, signed cloud.SignedRequest, base string) (status int, code string) {
	t.Helper()
	at := signed.URL
	if base != "" {
		_, rest, _ := strings.Cut(at, "/"+storage+"/")
		at = base + "/" + storage + "/" + rest
	}
	r, err := http.NewRequestWithContext(t.Context(), signed.Method, at, strings.NewReader("x"))
	if err != nil {
		t.Fatal("a signed request is none at all")
	}
	for name, value := range signed.Header {
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatalf("sending: %v", err)
	}
	_ = response.Body.Close()
	return response.StatusCode, response.Header.Get("X-Ms-Error-Code")
}

func TestSignaturesAllowOneThing(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	opened := s.open(t, func(c *cloud.Config) { c.Spec.ObjectStorage.Prefix = "backups" })
	s.clock.Step(300 * time.Millisecond)
	signed, err := opened.SignRequests(t.Context(), both(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for i, sp := range []string{"c", "r"} {
		u, err := url.Parse(signed[i].URL)
		if err != nil {
			t.Fatal("a signed request is none at all")
		}
		got := u.Query()
		got.Del("sig")
		want := url.Values{
			"sv": {"2022-11-02"}, "sr": {"b"}, "sp": {sp}, "se": {"2026-03-01T03:00:00Z"}, "spr": {"https,http"},
			"skoid": {client}, "sktid": {tenant}, "skt": {"2026-03-01T01:45:00Z"}, "ske": {"2026-03-01T04:00:00Z"}, "sks": {"b"}, "skv": {"2022-11-02"},
		}
		if diff := cmp.Diff(want, got); diff != "" || u.Path != "/"+storage+"/"+dumps+"/backups/dump/part-00000" {
			t.Errorf("path %q, query (-want +got):\n%s", u.Path, diff)
		}
		if at := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC); !signed[i].ExpiresAt.Equal(at) {
			t.Errorf("expires at %s, want %s", signed[i].ExpiresAt, at)
		}
	}
	want := []map[string]string{{"x-ms-blob-type": "BlockBlob", "If-None-Match": "*"}, nil}
	if diff := cmp.Diff(want, []map[string]string{signed[0].Header, signed[1].Header}); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

// TestSignaturesAreForTLS signs requests for an endpoint with TLS, and sends them without.
func TestSignaturesAreForTLS(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	secure := httptest.NewTLSServer(s.server)
	t.Cleanup(secure.Close)
	signed, err := s.open(t, func(c *cloud.Config) {
		c.Spec.ObjectStorage.Endpoint, c.HTTP = secure.URL+"/"+storage, secure.Client()
	}).SignRequests(t.Context(), both(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if u, err := url.Parse(signed[0].URL); err != nil || u.Scheme != "https" || u.Query().Get("spr") != "https" {
		t.Errorf("scheme %q for protocols %q", u.Scheme, u.Query().Get("spr"))
	}
	if status, code := send(t, signed[0], s.http.URL); status != http.StatusForbidden || code != "AuthorizationProtocolMismatch" {
		t.Errorf("status %d, code %q without TLS", status, code)
	}
}

// TestKeysAreKept counts the requests for keys, which are kept as long as they last.
func TestKeysAreKept(t *testing.T) {
	t.Parallel()
	s := newTestEnvAt(t, clock.RealClock{}.Now().Truncate(time.Second))
	opened := s.open(t, nil)
	for i, step := range []struct {
		after, life time.Duration
		want        int
	}{
		{0, time.Hour, 2},                       // A token, and a key of two hours.
		{55 * time.Minute, time.Hour, 2},        // More than an hour is left of it.
		{5 * time.Minute, time.Hour, 4},         // An hour is, and not more.
		{30 * time.Minute, time.Minute, 4},      // Enough.
		{85 * time.Minute, 10 * time.Minute, 6}, // Five minutes.
	} {
		s.clock.Step(step.after)
		signed, err := opened.SignRequests(t.Context(), both(), step.life)
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if n := len(s.script.Calls()); n != step.want {
			t.Errorf("step %d: %d requests, want %d", i, n, step.want)
		}
		s.store.Remove("dump/part-00000")
		for _, one := range signed {
			if status, code := send(t, one, ""); status/100 != 2 {
				t.Errorf("step %d: a %s gets %d %s", i, one.Method, status, code)
			}
		}
	}
}

func TestNoKey(t *testing.T) {
	t.Parallel()
	xml := http.Header{"Content-Type": {"application/xml"}}
	key := func(expiry, value string) string {
		return `<UserDelegationKey><SignedOid>o</SignedOid><SignedTid>t</SignedTid><SignedStart>2026-03-01T00:00:00Z</SignedStart><SignedExpiry>` +
			expiry + `</SignedExpiry><SignedService>b</SignedService><SignedVersion>v</SignedVersion><Value>` + value + `</Value></UserDelegationKey>`
	}
	tests := map[string]struct {
		fault faults.Fault
		class cloud.Class
		code  string
	}{
		"denied":            {faults.Fault{Answer: answered(http.StatusForbidden, "AuthorizationPermissionMismatch", 0)}, cloud.ClassDenied, delegate},
		"throttled":         {faults.Fault{Answer: answered(http.StatusServiceUnavailable, "ServerBusy", time.Minute)}, cloud.ClassThrottled, "ServerBusy"},
		"lost":              {faults.Fault{Kind: faults.DropAfter}, cloud.ClassTransient, ""},
		"half":              {faults.Fault{Kind: faults.Truncate}, cloud.ClassTransient, ""},
		"a page":            {faults.Fault{Kind: faults.Garble}, cloud.ClassTransient, "InvalidAnswer"},
		"ends too soon":     {faults.Fault{Answer: faults.Answer{Status: 200, Header: xml, Body: key("2026-03-01T02:30:00Z", "c2VjcmV0")}}, cloud.ClassTransient, "InvalidAnswer"},
		"without a value":   {faults.Fault{Answer: faults.Answer{Status: 200, Header: xml, Body: key("2026-03-01T09:30:00Z", "")}}, cloud.ClassTransient, "InvalidAnswer"},
		"without an end":    {faults.Fault{Answer: faults.Answer{Status: 200, Header: xml, Body: key("soon", "c2VjcmV0")}}, cloud.ClassTransient, "InvalidAnswer"},
		"the account is no": {faults.Fault{Answer: answered(http.StatusForbidden, "AccountIsDisabled", 0)}, cloud.ClassDenied, "AccountIsDisabled"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestEnv(t)
			if tt.fault.Kind == "" {
				tt.fault.Kind = faults.Refuse
			}
			tt.fault.Op, tt.fault.Skip = faults.OpOther, 1 // After the token.
			s.script.Add(tt.fault)
			opened := s.open(t, nil)
			signed, err := opened.SignRequests(t.Context(), both(), time.Hour)
			if cloud.ClassOf(err) != tt.class || codeOf(err) != tt.code || len(signed) > 0 {
				t.Errorf("%d requests, class %q, code %q of %v; want %q and %q", len(signed), cloud.ClassOf(err), codeOf(err), err, tt.class, tt.code)
			}
			if n := len(s.script.Calls()); n != 2 {
				t.Errorf("%d requests, want a token and a key", n)
			}
			if signed, err = opened.SignRequests(t.Context(), both(), time.Hour); err != nil || len(signed) != 2 {
				t.Errorf("afterwards: %d requests, %v", len(signed), err)
			}
		})
	}
}

// TestVersions checks that the fake accepts signatures of the SDK for its own version of the service, and refuses those
// that it makes for ours: when it accepts them, the SDK can sign.
func TestVersions(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	config := s.config()
	at, err := identity.Environment{}.Blobs("127", s.http.URL+"/127")
	if err != nil {
		t.Fatal(err)
	}
	bearer, err := identity.New(config, at, config.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := service.NewClientWithNoCredential(at.Endpoint(), &service.ClientOptions{ClientOptions: azcore.ClientOptions{
		Transport: config.HTTP, PerRetryPolicies: []policy.Policy{bearer},
	}})
	if err != nil {
		t.Fatal(err)
	}
	now := s.clock.Now()
	key, err := theirs.GetUserDelegationCredential(t.Context(), service.KeyInfo{
		Start: new(now.Add(-time.Minute).Format(sas.TimeFormat)), Expiry: new(now.Add(time.Hour).Format(sas.TimeFormat)),
	}, nil)
	if err != nil {
		t.Fatalf("asking for a key: %v", err)
	}
	sign := func(version string) string {
		query, err := sas.BlobSignatureValues{
			Version: version, Protocol: sas.ProtocolHTTPSandHTTP, StartTime: now.Add(-time.Minute), ExpiryTime: now.Add(time.Minute), Permissions: "c",
			ContainerName: dumps, BlobName: "theirs",
		}.SignWithUserDelegation(key)
		if err != nil {
			t.Fatal(err)
		}
		return query.Encode()
	}
	for name, tt := range map[string]struct {
		blob, version string
		want          int
	}{
		"the SDK's version":             {"theirs", "", http.StatusCreated},
		"the SDK's for another blob":    {"ours", "", http.StatusForbidden},
		"the version of the signatures": {"theirs", version, http.StatusForbidden},
	} {
		if status, code := send(t, cloud.SignedRequest{
			Method: http.MethodPut, URL: at.Endpoint() + "/" + dumps + "/" + tt.blob + "?" + sign(tt.version), Header: map[string]string{"x-ms-blob-type": "BlockBlob"},
		}, ""); status != tt.want {
			t.Errorf("%s: %d %s, want %d", name, status, code, tt.want)
		}
		s.store.Remove(tt.blob)
	}
}
