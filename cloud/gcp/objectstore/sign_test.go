package objectstore

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/fake/gcs"
)

func sign(t *testing.T, objects cloud.ObjectStore, wanted ...cloud.ObjectRequest) []cloud.SignedRequest {
	t.Helper()
	signed, err := objects.SignRequests(t.Context(), wanted, 30*time.Minute)
	if err != nil || len(signed) != len(wanted) {
		t.Fatalf("%d requests, %v; want %d", len(signed), err, len(wanted))
	}
	return signed
}

// send sends a signed request without credentials, and fails unless it returns the wanted
// status.
func send(t *testing.T, signed cloud.SignedRequest, content string, want int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), signed.Method, signed.URL, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range signed.Header {
		r.Header.Set(name, value)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != want {
		answer, _ := io.ReadAll(response.Body)
		t.Errorf("status %d to a %s of %s, want %d: %s", response.StatusCode, signed.Method, signed.URL, want, answer)
	}
}

// boundaries returns the options of all token exchanges so far.
func (e *testEnv) boundaries(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, call := range e.script.Calls() {
		line, body, _ := strings.Cut(call.Request, "\n")
		form, err := url.ParseQuery(body)
		if strings.HasPrefix(line, "POST /v1/token") && err == nil {
			out = append(out, form.Get("options"))
		}
	}
	return out
}

// rule returns the JSON of a boundary with one rule.
func rule(role, condition string) string {
	return fmt.Sprintf(`{"accessBoundary":{"accessBoundaryRules":[{"availableResource":"//storage.googleapis.com/projects/_/buckets/shop-dumps",`+
		`"availablePermissions":["inRole:roles/storage.%s"],"availabilityCondition":{"expression":%q}}]}}`, role, condition)
}

func twoTokens(t *testing.T, e *testEnv) {
	t.Helper()
	config := e.config(t)
	config.Spec.ObjectStorage.Prefix = "eu"
	objects := open(t, config)
	signed := sign(t, objects,
		cloud.ObjectRequest{Method: http.MethodPut, Key: "app/one/part-00000"}, cloud.ObjectRequest{Method: http.MethodGet, Key: "app/one/manifest.json"},
		cloud.ObjectRequest{Method: http.MethodPut, Key: "app/one/part-00001"}, cloud.ObjectRequest{Method: http.MethodPut, Key: "app/one/part-00010"},
	)
	want := map[string]bool{
		rule("objectCreator", "resource.name.startsWith('projects/_/buckets/shop-dumps/objects/eu/app/one/part-000')"): true,
		rule("objectViewer", "resource.name == 'projects/_/buckets/shop-dumps/objects/eu/app/one/manifest.json'"):      true,
	}
	got := map[string]bool{}
	for _, options := range e.boundaries(t) {
		got[strings.ReplaceAll(options, `\u0027`, "'")] = true
	}
	if diff := cmp.Diff(want, got); diff != "" || len(e.boundaries(t)) != 2 {
		t.Errorf("boundaries of %d exchanges (-want +got):\n%s", len(e.boundaries(t)), diff)
	}
	send(t, signed[0], "x", http.StatusOK)
	send(t, signed[0], "x", http.StatusPreconditionFailed)
	send(t, signed[1], "", http.StatusNotFound)
	if signed[0].Header["Authorization"] != signed[3].Header["Authorization"] || signed[0].Header["Authorization"] == signed[1].Header["Authorization"] {
		t.Error("uploads do not share a token, or downloads have the same")
	}
}

// partsAlone checks that signed requests for parts neither create the manifest nor delete objects.
func partsAlone(t *testing.T, e *testEnv) {
	t.Helper()
	objects := open(t, e.config(t))
	part := func(n int) cloud.ObjectRequest {
		return cloud.ObjectRequest{Method: http.MethodPut, Key: fmt.Sprintf("app/one/part-%05d", n)}
	}
	signed := sign(t, objects, part(0), part(1))
	for _, other := range []string{"manifest.json", "part-1", "part-00010"} {
		bent := signed[0]
		bent.URL = strings.Replace(bent.URL, "part-00000", other, 1)
		send(t, bent, "x", http.StatusForbidden)
	}
	// It is good for other parts, though: that is the price of one token for all.
	bent := signed[0]
	bent.URL = strings.Replace(bent.URL, "part-00000", "part-00002", 1)
	send(t, bent, "x", http.StatusOK)
	// And not for writing over them, whatever is left out.
	delete(bent.Header, conditionHeader)
	send(t, bent, "y", http.StatusForbidden)
	if got, _ := e.store.Content("app/one/part-00002"); string(got) != "x" {
		t.Errorf("the part is %q", got)
	}
}

func readsAlone(t *testing.T, e *testEnv) {
	t.Helper()
	objects := open(t, e.config(t))
	signed := sign(t, objects, cloud.ObjectRequest{Method: http.MethodGet, Key: "a/one"}, cloud.ObjectRequest{Method: http.MethodGet, Key: "a/two"})[0]
	for _, path := range []string{"/storage/v1/b/shop-dumps/o", "/storage/v1/b/shop-dumps/o?prefix=a%2F"} {
		bent := signed
		bent.URL = e.url + path
		send(t, bent, "", http.StatusForbidden)
	}
	e.store.Put("a/one", []byte("x"))
	send(t, signed, "", http.StatusOK)
}

// notNarrowed checks an identity whose tokens Google does not narrow.
func notNarrowed(t *testing.T, e *testEnv) {
	t.Helper()
	objects := open(t, e.config(t))
	e.script.Add(faults.Fault{Op: faults.OpOther, Skip: 1, Times: -1, Kind: faults.Refuse, Answer: faults.Answer{
		Status: http.StatusBadRequest, Body: fmt.Sprintf(`{"error": "invalid_request", "error_description": %q}`, "ya29.secret"),
	}})
	_, err := objects.SignRequests(t.Context(), []cloud.ObjectRequest{{Method: http.MethodPut, Key: "a"}}, time.Hour)
	wantClass(t, err, cloud.ClassInvalid)
	if text := err.Error(); !strings.Contains(text, "invalid_request") || !strings.Contains(text, "SignRequests") || strings.Contains(text, "ya29") {
		t.Errorf("error %v", err)
	}
	if n := e.script.Count(faults.OpOther); n != 2 {
		t.Errorf("%d requests, want one for a token and one to narrow it", n)
	}
}

func federated(t *testing.T, e *testEnv) {
	t.Helper()
	const provider = "projects/4711/locations/global/workloadIdentityPools/fleet/providers/hub-oidc"
	e.tokens.AddSubject("//iam.googleapis.com/"+provider, "hub-token", project)
	config := e.config(t)
	config.Spec.Credentials.Type = v1.CredentialsFederated
	config.Spec.GCP.WorkloadIdentityProvider = provider
	config.Token = func(context.Context, string) (string, error) { return "hub-token", nil }
	objects := open(t, config)
	send(t, sign(t, objects, cloud.ObjectRequest{Method: http.MethodPut, Key: "part"})[0], "x", http.StatusOK)
	if got, err := objects.GetObject(t.Context(), "part", 1); err != nil || string(got) != "x" {
		t.Errorf("content %q, %v", got, err)
	}
}

// TestTokensExpire checks that a request is valid as long as its token, and names no later expiry.
func TestTokensExpire(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t, prepare(t), gcs.Options{})
	objects := open(t, e.config(t))
	e.store.Put("there", []byte("first"))
	wanted := []cloud.ObjectRequest{{Method: http.MethodGet, Key: "there"}, {Method: http.MethodPut, Key: "new"}}
	signed, err := objects.SignRequests(t.Context(), wanted, cloud.MaxLife)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range signed {
		if !r.ExpiresAt.Equal(e.clock.Now().Add(time.Hour)) {
			t.Errorf("a %s until %s", r.Method, r.ExpiresAt)
		}
	}
	e.clock.Step(time.Hour - time.Second)
	send(t, signed[0], "", http.StatusOK)
	e.clock.Step(time.Second)
	send(t, signed[0], "", http.StatusUnauthorized)
	send(t, signed[1], "x", http.StatusUnauthorized)
	if keys := e.store.Keys(); len(keys) != 1 {
		t.Errorf("keys %v", keys)
	}
}
