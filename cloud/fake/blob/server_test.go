package blob

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"

	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
)

const (
	tenant = "22222220-0000-4000-8000-000000000000"
	client = "33333330-0000-4000-8000-000000000000"
	phrase = "s3cr~et.VALUE"
)

// stage is a server with two accounts.
type stage struct {
	t      *testing.T
	clock  *testclock.FakeClock
	store  *bucket.Store
	server *Server
	http   *httptest.Server
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, clock: testclock.NewFakeClock(time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC))}
	s.store = bucket.NewStore(s.clock)
	s.server = New(Options{Clock: s.clock, Accounts: []Account{
		{Name: "shop", Tenant: tenant, ClientID: client, ClientSecret: phrase, Containers: map[string]*bucket.Store{"dumps": s.store}},
		{Name: "other", Tenant: tenant, ClientID: "44444440-0000-4000-8000-000000000000", ClientSecret: phrase, Containers: map[string]*bucket.Store{"dumps": s.store}},
	}})
	s.http = httptest.NewServer(s.server)
	t.Cleanup(s.http.Close)
	return s
}

// answer is what a request got.
type answer struct {
	status     int
	code, body string
	header     http.Header
}

// ask sends a request; headers are names and values in turn.
func (s *stage) ask(method, path, body string, headers ...string) answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.http.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := s.http.Client().Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header.Get("X-Ms-Error-Code"), string(text), response.Header}
}

// bearer are the headers of who has a token.
func (s *stage) bearer(scope string) []string {
	s.t.Helper()
	got := s.ask(http.MethodPost, "/shop/"+tenant+"/oauth2/v2.0/token", url.Values{
		"grant_type": {"client_credentials"}, "client_id": {client}, "client_secret": {phrase}, "scope": {scope},
	}.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	given := struct {
		Token string `json:"access_token"`
	}{}
	if err := json.Unmarshal([]byte(got.body), &given); err != nil || given.Token == "" {
		s.t.Fatalf("no token: %d %s", got.status, got.body)
	}
	return []string{"Authorization", "Bearer " + given.Token, "x-ms-version", "2022-11-02"}
}

const scope = "https://storage.azure.com/.default"

func TestTokens(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.store.Put("a", []byte("first"))
	good := s.bearer(scope)
	tests := map[string]struct {
		path    string
		headers []string
		want    string
	}{
		"a token":                {"/shop/dumps/a", good, "200 "},
		"none":                   {"/shop/dumps/a", nil, "401 NoAuthenticationInformation"},
		"another's":              {"/shop/dumps/a", []string{"Authorization", "Bearer x", "x-ms-version", "2022-11-02"}, "401 InvalidAuthenticationInfo"},
		"for another service":    {"/shop/dumps/a", s.bearer("https://management.azure.com/.default"), "401 InvalidAuthenticationInfo"},
		"without a version":      {"/shop/dumps/a", good[:2], "401 InvalidAuthenticationInfo"},
		"for another account":    {"/other/dumps/a", good, "403 AuthorizationPermissionMismatch"},
		"for no account":         {"/none/dumps/a", good, "404 ResourceNotFound"},
		"for no container":       {"/shop/none/a", good, "404 ContainerNotFound"},
		"for no blob":            {"/shop/dumps/none", good, "404 BlobNotFound"},
		"with a wrong parameter": {"/shop/dumps/a?comp=lease", good, "400 InvalidQueryParameterValue"},
	}
	for name, tt := range tests {
		if got := s.ask(http.MethodGet, tt.path, "", tt.headers...); fmt.Sprint(got.status, " ", got.code) != tt.want {
			t.Errorf("%s: %d %s, want %s", name, got.status, got.code, tt.want)
		}
	}
	s.clock.Step(time.Hour)
	if got := s.ask(http.MethodGet, "/shop/dumps/a", "", good...); got.code != "InvalidAuthenticationInfo" {
		t.Errorf("after an hour: %d %s", got.status, got.code)
	}
	good = s.bearer(scope)
	s.server.Expire()
	if got := s.ask(http.MethodGet, "/shop/dumps/a", "", good...); got.code != "InvalidAuthenticationInfo" {
		t.Errorf("expired: %d %s", got.status, got.code)
	}
	s.server.Deny(Read)
	if got := s.ask(http.MethodGet, "/shop/dumps/a", "", s.bearer(scope)...); got.code != "AuthorizationPermissionMismatch" {
		t.Errorf("denied: %d %s", got.status, got.code)
	}
}

func TestBlobs(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	good := s.bearer(scope)
	steps := []struct {
		method, body string
		headers      []string
		want         string
	}{
		{http.MethodPut, "first", nil, "400 MissingRequiredHeader"},
		{http.MethodPut, "first", []string{"x-ms-blob-type", "AppendBlob"}, "400 InvalidHeaderValue"},
		{http.MethodPut, "first", []string{"x-ms-blob-type", "BlockBlob", "If-None-Match", "*"}, "201 "},
		{http.MethodPut, "other", []string{"x-ms-blob-type", "BlockBlob", "If-None-Match", "*"}, "409 BlobAlreadyExists"},
		{http.MethodPut, "other", []string{"x-ms-blob-type", "BlockBlob", "If-None-Match", `"0x8D0000000000001"`}, "412 ConditionNotMet"},
		{http.MethodPut, "other", []string{"x-ms-blob-type", "BlockBlob"}, "201 "},
		{http.MethodGet, "", []string{"x-ms-range", "bytes=1-2"}, "206 "},
		{http.MethodHead, "", nil, "200 "},
		{http.MethodPatch, "", nil, "405 UnsupportedHttpVerb"},
		{http.MethodDelete, "", nil, "202 "},
		{http.MethodDelete, "", nil, "404 BlobNotFound"},
		{http.MethodHead, "", nil, "404 BlobNotFound"},
	}
	for i, step := range steps {
		got := s.ask(step.method, "/shop/dumps/a/b", step.body, append(step.headers, good...)...)
		if fmt.Sprint(got.status, " ", got.code) != step.want {
			t.Errorf("step %d: %d %s, want %s", i, got.status, got.code, step.want)
		}
		if step.method == http.MethodGet && (got.body != "th" || got.header.Get("X-Ms-Blob-Type") != "BlockBlob") {
			t.Errorf("step %d: %q of a %s", i, got.body, got.header.Get("X-Ms-Blob-Type"))
		}
	}
	s.store.Put("held", []byte("x"))
	s.store.Lock("held", true)
	for _, method := range []string{http.MethodPut, http.MethodDelete} {
		if got := s.ask(method, "/shop/dumps/held", "", append([]string{"x-ms-blob-type", "BlockBlob"}, good...)...); got.status != http.StatusConflict || got.code != "BlobImmutableDueToPolicy" {
			t.Errorf("%s of what is held: %d %s", method, got.status, got.code)
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	good := s.bearer(scope)
	for _, key := range []string{"a/1", "a/2", "a/3", "b"} {
		s.store.Put(key, []byte(key))
	}
	s.server.SetPageSize(2)
	var names []string
	marker := ""
	for range 2 {
		got := s.ask(http.MethodGet, "/shop/dumps?restype=container&comp=list&prefix=a/&marker="+marker, "", good...)
		var page enumeration
		if err := xml.Unmarshal([]byte(got.body), &page); err != nil {
			t.Fatalf("%v: %s", err, got.body)
		}
		for _, b := range page.Blobs.Blob {
			names = append(names, fmt.Sprint(b.Name, " ", b.Properties.Length))
		}
		marker = page.NextMarker
	}
	if diff := cmp.Diff([]string{"a/1 3", "a/2 3", "a/3 3"}, names); diff != "" || marker != "" {
		t.Errorf("marker %q, names (-want +got):\n%s", marker, diff)
	}
	for query, want := range map[string]string{
		"&maxresults=1": "", "&maxresults=0": "OutOfRangeQueryParameterValue", "&marker=*": "InvalidQueryParameterValue", "&delimiter=/": "InvalidQueryParameterValue",
	} {
		if got := s.ask(http.MethodGet, "/shop/dumps?restype=container&comp=list"+query, "", good...); got.code != want {
			t.Errorf("%s: %d %s, want %s", query, got.status, got.code, want)
		}
	}
}

// TestKeys asks for keys that are given out, and for others. What they sign is tested
// with Microsoft's own clients, in cloud/azure/objectstore.
func TestKeys(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	good := s.bearer(scope)
	tests := map[string]struct{ start, expiry, want string }{
		"an hour":           {"2026-03-01T02:00:00Z", "2026-03-01T03:00:00Z", "200 "},
		"a week and more":   {"2026-03-01T02:00:00Z", "2026-03-08T02:00:01Z", "400 InvalidXmlNodeValue"},
		"over already":      {"2026-03-01T01:00:00Z", "2026-03-01T02:00:00Z", "400 InvalidXmlNodeValue"},
		"from end to start": {"2026-03-01T04:00:00Z", "2026-03-01T03:00:00Z", "400 InvalidXmlNodeValue"},
		"no time":           {"now", "later", "400 InvalidXmlNodeValue"},
	}
	for name, tt := range tests {
		body := "<KeyInfo><Start>" + tt.start + "</Start><Expiry>" + tt.expiry + "</Expiry></KeyInfo>"
		if got := s.ask(http.MethodPost, "/shop/?restype=service&comp=userdelegationkey", body, good...); fmt.Sprint(got.status, " ", got.code) != tt.want {
			t.Errorf("%s: %d %s, want %s", name, got.status, got.code, tt.want)
		}
	}
	if got := s.ask(http.MethodPost, "/shop/?restype=service&comp=userdelegationkey", "<KeyInfo>", good...); got.code != "InvalidXmlDocument" {
		t.Errorf("half a document: %d %s", got.status, got.code)
	}
	mine := userKey{SignedOid: client, SignedTid: tenant, SignedService: "b"}
	if a, b := mine.seal(Account{Name: "shop"}), mine.seal(Account{Name: "other"}); a.Value == b.Value {
		t.Error("two accounts give out the same key")
	}
}
