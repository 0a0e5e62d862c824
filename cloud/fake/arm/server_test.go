package arm

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"

	"github.com/shopfleet/shopfleet/cloud/fake"
)

const (
	tenant       = "22222222-0000-4000-8000-000000000000"
	subscription = "11111111-0000-4000-8000-000000000000"
	client       = "33333333-0000-4000-8000-000000000000"
	compute      = "/subscriptions/" + subscription + "/resourceGroups/g/providers/Microsoft.Compute/"
	version      = "?api-version=2026-03-02"
	phrase       = "pass-phrase"
)

// stand is a server, and a client that speaks no more than HTTP.
type stand struct {
	*testing.T
	clock  *testclock.FakeClock
	world  *fake.Cloud
	server *Server
	http   *httptest.Server
	token  string
}

func newStand(t *testing.T) *stand {
	t.Helper()
	s := &stand{T: t, clock: testclock.NewFakeClock(time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC))}
	s.world = fake.NewCloud(s.clock)
	s.server = New(s.world, Options{Clock: s.clock, Accounts: []Account{
		{Subscription: subscription, Tenant: tenant, ClientID: client, ClientSecret: phrase, Groups: []string{"g", "nodes"}, Subject: "me"},
		{Subscription: "another", Tenant: tenant, ClientID: "another", ClientSecret: phrase, Groups: []string{"g"}},
	}})
	s.http = httptest.NewServer(s.server)
	t.Cleanup(s.http.Close)
	s.token = s.login(client)
	return s
}

func (s *stand) login(id string) string {
	s.Helper()
	got := s.form(url.Values{"grant_type": {"client_credentials"}, "client_id": {id}, "client_secret": {phrase}, "scope": {"https://management.azure.com/.default"}})
	token, ok := got.body["access_token"].(string)
	if !ok {
		s.Fatalf("no token: %+v", got)
	}
	return token
}

func (s *stand) form(form url.Values) reply {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.http.URL+"/"+tenant+"/oauth2/v2.0/token", strings.NewReader(form.Encode()))
	if err != nil {
		s.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return s.send(request)
}

// reply is what the server said.
type reply struct {
	status int
	header http.Header
	body   map[string]any
}

// code is that of an error, or empty.
func (r reply) code() string {
	if failure, ok := r.body["error"].(map[string]any); ok {
		return fmt.Sprint(failure["code"])
	}
	if reason, ok := r.body["error"].(string); ok {
		return reason
	}
	return ""
}

func (s *stand) ask(method, path, body string) reply {
	s.Helper()
	if !strings.HasPrefix(path, "http") {
		path = s.http.URL + path
	}
	request, err := http.NewRequestWithContext(s.Context(), method, path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	return s.send(request)
}

func (s *stand) send(request *http.Request) reply {
	s.Helper()
	response, err := s.http.Client().Do(request)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatal(err)
	}
	out := reply{status: response.StatusCode, header: response.Header}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &out.body); err != nil {
			s.Fatalf("%s %s: %v in %s", request.Method, request.URL.Path, err, text)
		}
	}
	return out
}

func (s *stand) want(method, path, body string, status int, code string) reply {
	s.Helper()
	got := s.ask(method, path, body)
	if got.status != status || got.code() != code {
		s.Errorf("%s %s: %d %q, want %d %q", method, path, got.status, got.code(), status, code)
	}
	return got
}

// disk adds a disk and returns the body of a snapshot of it.
func (s *stand) disk(name string) string {
	s.Helper()
	v := s.server.AddDisk(Disk{Subscription: subscription, Group: "nodes", Name: name, Region: "eastus", Zone: "eastus-1", SizeBytes: gib})
	return snapshotBody("eastus", "Copy", v.ID)
}

func snapshotBody(location, option, source string) string {
	return fmt.Sprintf(`{"location":%q,"properties":{"incremental":true,"creationData":{"createOption":%q,"sourceResourceId":%q}}}`, location, option, source)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	good := s.disk("d")
	copyOf := strings.ReplaceAll(good, `"Copy"`, `"CopyStart"`)
	v2 := `{"location":"eastus","sku":{"name":"PremiumV2_LRS"},%s"properties":{"diskSizeGB":8,%s"creationData":{"createOption":"Empty"}}}`
	tests := map[string]struct {
		method, path, body string
		status             int
		code               string
	}{
		"no version":             {"GET", compute + "disks/d", "", 400, "MissingApiVersionParameter"},
		"no such thing":          {"GET", "/subscriptions/" + subscription + "/providers/Microsoft.Storage/x" + version, "", 404, "InvalidResourceType"},
		"no group":               {"GET", strings.Replace(compute, "/g/", "/none/", 1) + "disks/d" + version, "", 404, "ResourceGroupNotFound"},
		"no subscription":        {"GET", strings.Replace(compute, subscription, "none", 1) + "disks/d" + version, "", 404, "SubscriptionNotFound"},
		"another's subscription": {"GET", strings.Replace(compute, subscription, "another", 1) + "disks/d" + version, "", 403, "AuthorizationFailed"},
		"no disk":                {"GET", compute + "disks/none" + version, "", 404, "ResourceNotFound"},
		"no snapshot":            {"GET", compute + "snapshots/none" + version, "", 404, "ResourceNotFound"},
		"a method":               {"PATCH", compute + "disks/d" + version, "{}", 405, "MethodNotAllowed"},
		"no JSON":                {"PUT", compute + "snapshots/s" + version, "location", 400, "InvalidRequestContent"},
		"an unknown member":      {"PUT", compute + "snapshots/s" + version, `{"location":"eastus","size":1}`, 400, "InvalidRequestContent"},
		"no location":            {"PUT", compute + "snapshots/s" + version, strings.Replace(good, "eastus", "", 1), 400, "LocationRequired"},
		"no source":              {"PUT", compute + "snapshots/s" + version, `{"location":"eastus"}`, 400, "InvalidParameter"},
		"an unknown option":      {"PUT", compute + "snapshots/s" + version, strings.Replace(good, `"Copy"`, `"Move"`, 1), 400, "InvalidParameter"},
		"a long name":            {"PUT", compute + "snapshots/" + strings.Repeat("n", 81) + version, good, 400, "InvalidParameter"},
		"a strange name":         {"PUT", compute + "snapshots/a%20b" + version, good, 400, "InvalidParameter"},
		"a strange tag":          {"PUT", compute + "snapshots/s" + version, `{"tags":{"a/b":"c"},` + good[1:], 400, "InvalidTagNameCharacters"},
		"a long tag":             {"PUT", compute + "snapshots/s" + version, `{"tags":{"a":"` + strings.Repeat("v", 257) + `"},` + good[1:], 400, "TagValueTooLong"},
		"a zone of a snapshot":   {"PUT", compute + "snapshots/s" + version, `{"zones":["1"],` + good[1:], 400, "BadRequest"},
		"a missing disk":         {"PUT", compute + "snapshots/s" + version, strings.ReplaceAll(good, "disks/d", "disks/none"), 404, "NotFound"},
		"another location":       {"PUT", compute + "snapshots/s" + version, strings.Replace(good, "eastus", "westus", 1), 400, "BadRequest"},
		"a copy of a disk":       {"PUT", compute + "snapshots/s" + version, copyOf, 404, "NotFound"},
		"a disk without a size":  {"PUT", compute + "disks/e" + version, `{"location":"eastus","properties":{"creationData":{"createOption":"Empty"}}}`, 400, "InvalidParameter"},
		"a disk without a zone":  {"PUT", compute + "disks/e" + version, fmt.Sprintf(v2, "", ""), 400, "BadRequest"},
		"too few IOPS":           {"PUT", compute + "disks/e" + version, fmt.Sprintf(v2, `"zones":["1"],`, `"diskIOPSReadWrite":100,`), 400, "InvalidParameter"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on := *s
			on.T = t
			on.want(tt.method, tt.path, tt.body, tt.status, tt.code)
			if n := len(s.world.Snapshots()); n != 0 {
				t.Errorf("%d snapshots were made", n)
			}
		})
	}
}

func TestLifeOfASnapshot(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.world.SetPace(fake.Pace{Taken: 10 * time.Second, Ready: time.Minute})
	body, path := s.disk("d"), compute+"snapshots/s"+version
	made := s.want("PUT", path, body, 202, "")
	operation, location := made.header.Get("Azure-Asyncoperation"), made.header.Get("Location")
	read := func(key string) any {
		properties, ok := s.want("GET", path, "", 200, "").body["properties"].(map[string]any)
		if !ok {
			t.Fatal("no properties")
		}
		return properties[key]
	}
	if state := read("provisioningState"); state != "Creating" {
		t.Errorf("state %v at the beginning", state)
	}
	if status := s.want("GET", operation, "", 200, "").body["status"]; status != "InProgress" {
		t.Errorf("operation %v at the beginning", status)
	}
	s.want("GET", location, "", 202, "")
	s.clock.Step(30 * time.Second)
	if state, percent := read("provisioningState"), read("completionPercent"); state != "Succeeded" || percent != 50.0 {
		t.Errorf("state %v at %v %%, want Succeeded at 50", state, percent)
	}
	if status := s.want("GET", operation, "", 200, "").body["status"]; status != "Succeeded" {
		t.Errorf("operation %v in the end", status)
	}
	s.want("GET", location, "", 200, "")
	s.want("PUT", path, body, 200, "")
	s.want("PUT", path, s.disk("other"), 409, "PropertyChangeNotAllowed")
	s.want("PUT", path, strings.Replace(body, "eastus", "westus", 1), 409, "InvalidResourceLocation")
	if n := len(s.world.Snapshots()); n != 1 {
		t.Errorf("%d snapshots of one name", n)
	}
	s.want("DELETE", path, "", 202, "")
	s.want("DELETE", path, "", 204, "")
	s.want("GET", path, "", 404, "ResourceNotFound")
}

func TestHeldResources(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.want("PUT", compute+"snapshots/s"+version, s.disk("d"), 202, "")
	id := s.world.Snapshots()[0].ID
	s.world.EditSnapshot(id, func(one *fake.Snapshot) { one.Locked = true })
	s.want("DELETE", compute+"snapshots/s"+version, "", 409, "ScopeLocked")
	s.world.EditSnapshot(id, func(one *fake.Snapshot) { one.Locked, one.Used = false, true })
	s.want("DELETE", compute+"snapshots/s"+version, "", 409, "OperationNotAllowed")
	disk := strings.Replace(compute, "/g/", "/nodes/", 1) + "disks/d" + version
	s.world.EditVolume(s.world.Volumes()[0].ID, func(v *fake.Volume) { v.Attached = true })
	s.want("DELETE", disk, "", 409, "OperationNotAllowed")
	s.world.EditVolume(s.world.Volumes()[0].ID, func(v *fake.Volume) { v.Attached = false })
	s.want("DELETE", disk, "", 202, "")
	s.server.Deny(subscription, "microsoft.compute/snapshots/DELETE")
	s.want("DELETE", compute+"snapshots/s"+version, "", 403, "AuthorizationFailed")
}

func TestLimits(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	body := s.disk("d")
	s.server.SetLimits(Limits{Burst: 2, Live: 3})
	for i, want := range []int{202, 202, 429} {
		code := map[int]string{429: "TooManyRequests"}[want]
		got := s.want("PUT", fmt.Sprintf("%ssnapshots/s%d%s", compute, i, version), body, want, code)
		if after := got.header.Get("Retry-After"); want == 429 && after != "180" {
			t.Errorf("retry after %q, want what is left of five minutes", after)
		}
		s.clock.Step(time.Minute)
	}
	s.clock.Step(10 * time.Minute)
	s.want("PUT", compute+"snapshots/s3"+version, body, 202, "")
	s.want("PUT", compute+"snapshots/s4"+version, body, 409, "OperationNotAllowed")
}

func TestTokens(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	path := compute + "disks" + version
	s.want("GET", path, "", 200, "")
	s.clock.Step(time.Hour)
	s.want("GET", path, "", 401, "ExpiredAuthenticationToken")
	s.token = "made up"
	s.want("GET", path, "", 401, "InvalidAuthenticationToken")
	s.token = ""
	if got := s.want("GET", path, "", 401, "AuthenticationFailed"); !strings.HasPrefix(got.header.Get("Www-Authenticate"), "Bearer ") {
		t.Errorf("challenge %q", got.header.Get("Www-Authenticate"))
	}
	good := url.Values{"grant_type": {"client_credentials"}, "client_id": {client}, "client_secret": {phrase}, "scope": {"x/.default"}}
	for key, tt := range map[string]struct {
		value, want string
	}{
		"client_secret":    {"wrong", "invalid_client"},
		"client_id":        {"nobody", "unauthorized_client"},
		"scope":            {"x", "invalid_scope"},
		"grant_type":       {"password", "unsupported_grant_type"},
		"client_assertion": {"a.b.c", "invalid_request"},
	} {
		form := maps.Clone(good)
		form.Set(key, tt.value)
		if got := s.form(form); got.code() != tt.want || got.status < 400 || got.body["access_token"] != nil {
			t.Errorf("%s %q: %d %q, want %q", key, tt.value, got.status, got.code(), tt.want)
		}
	}
}

// TestPages reads a list whose beginning is deleted meanwhile.
func TestPages(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.server.SetPageSize(2)
	body := s.disk("d")
	for i := range 5 {
		s.want("PUT", fmt.Sprintf("%ssnapshots/s%d%s", compute, i, version), body, 202, "")
	}
	var names []any
	for next := compute + "snapshots" + version; next != ""; {
		page := s.want("GET", next, "", 200, "")
		all, ok := page.body["value"].([]any)
		if !ok || len(all) > 2 {
			t.Fatalf("page %v", page.body)
		}
		for _, one := range all {
			if resource, ok := one.(map[string]any); ok {
				names = append(names, resource["name"])
			}
		}
		s.want("DELETE", compute+"snapshots/s0"+version, "", map[bool]int{true: 202, false: 204}[len(names) == 2], "")
		next, _ = page.body["nextLink"].(string)
	}
	if diff := cmp.Diff([]any{"s0", "s1", "s2", "s3", "s4"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}
