package gcs

import (
	"encoding/json"
	"fmt"
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

// issuer knows one token, and makes none.
type issuer struct{}

func (issuer) ServeHTTP(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }

func (issuer) Bearer(token string) (string, bool) { return "hub", token == "hub-token" }

// bench is a server without any client library.
type bench struct {
	*testing.T
	clock  *testclock.FakeClock
	store  *bucket.Store
	server *Server
}

func newBench(t *testing.T) *bench {
	t.Helper()
	clock := testclock.NewFakeClock(time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC))
	store := bucket.NewStore(clock)
	return &bench{t, clock, store, New(store, Options{Clock: clock, Bucket: "dumps", Tokens: issuer{}})}
}

// call is a request, and what is wanted of its answer: its status and what is in it.
type call struct {
	request string // The method, the path and the body, with spaces between.
	header  map[string]string
	status  int
	answer  string
}

func (b *bench) send(c call) *httptest.ResponseRecorder {
	b.Helper()
	method, rest, _ := strings.Cut(c.request, " ")
	path, body, _ := strings.Cut(rest, " ")
	r := httptest.NewRequestWithContext(b.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer hub-token")
	for name, value := range c.header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	b.server.ServeHTTP(w, r)
	if w.Code != c.status || !strings.Contains(w.Body.String(), c.answer) {
		b.Errorf("%s: %d %s, want %d with %q", c.request, w.Code, w.Body, c.status, c.answer)
	}
	return w
}

const (
	list   = "/storage/v1/b/dumps/o"
	insert = "/upload/storage/v1/b/dumps/o"
)

// related is the body of an upload with a description.
func related(description, content string) string {
	return "--x\r\nContent-Type: application/json\r\n\r\n" + description + "\r\n--x\r\nContent-Type: text/plain\r\n\r\n" + content + "\r\n--x--\r\n"
}

func TestJSON(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	multi := map[string]string{"Content-Type": "multipart/related; boundary=x"}
	for _, c := range []call{
		{"POST " + insert + "?uploadType=media&name=a&ifGenerationMatch=0 first", nil, 200, `"size":"5"`},
		{"POST " + insert + "?uploadType=media&name=a&ifGenerationMatch=0 other", nil, 412, `"conditionNotMet"`},
		{"POST " + insert + "?uploadType=media&name=a&ifGenerationMatch=7 other", nil, 412, `"conditionNotMet"`},
		{"POST " + insert + "?uploadType=media&name=n&ifGenerationMatch=7 other", nil, 412, `"conditionNotMet"`},
		{"POST " + insert + "?uploadType=media&name=a&ifGenerationMatch=x other", nil, 400, `"invalid"`},
		{"POST " + insert + "?uploadType=multipart " + related(`{"name": "b/c", "crc32c": "4waSgw=="}`, "123456789"), multi, 200, `"name":"b/c"`},
		{"POST " + insert + "?uploadType=multipart " + related(`{"name": "n", "crc32c": "AAAAAA=="}`, "123456789"), multi, 400, "CRC32C"},
		{"POST " + insert + "?uploadType=multipart " + related(`{"name": "n", "md5Hash": "AAAAAA=="}`, "123456789"), multi, 400, "MD5"},
		{"POST " + insert + "?uploadType=multipart " + related(`{"name": "n", "colour": "red"}`, "1"), multi, 400, "colour"},
		{"POST " + insert + "?uploadType=multipart " + related(`{}`, "1"), multi, 400, `"required"`},
		{"POST " + insert + "?uploadType=multipart x", nil, 400, "multipart"},
		{"POST " + insert + "?uploadType=resumable&name=n", nil, 501, `"notImplemented"`},
		{"GET " + list + "/a?fields=size,generation", nil, 200, `{"generation":"1772330400000001","size":"5"}`},
		{"GET " + list + "/a?alt=media", nil, 200, "first"},
		{"GET " + list + "/a?alt=media&generation=1772330400000001", nil, 200, "first"},
		{"GET " + list + "/a?alt=media&generation=1", nil, 404, "No such object: dumps/a"},
		{"GET " + list + "/b%2Fc", nil, 200, `"crc32c":"4waSgw=="`},
		{"GET " + list + "/n", nil, 404, `"reason":"notFound"`},
		{"GET " + list + "/a?colour=red", nil, 400, "colour"},
		{"GET " + list + "?maxResults=1&fields=nextPageToken,items(name)", nil, 200, `{"items":[{"name":"a"}],"nextPageToken":"YQ=="}`},
		{"GET " + list + "?pageToken=YQ==&fields=nextPageToken,items(name)", nil, 200, `{"items":[{"name":"b/c"}]}`},
		{"GET " + list + "?prefix=x", nil, 200, `{"kind":"storage#objects"}`},
		{"GET " + list + "?maxResults=0", nil, 400, "maxResults"},
		{"GET " + list + "?pageToken=*", nil, 400, "pageToken"},
		{"GET /storage/v1/b/none/o", nil, 404, "bucket does not exist"},
		{"GET " + list, map[string]string{"Authorization": "Bearer x"}, 401, `"authError"`},
		{"GET " + list, map[string]string{"Authorization": ""}, 401, `"required"`},
		{"DELETE " + list + "/a", nil, 204, ""},
		{"DELETE " + list + "/a", nil, 404, `"notFound"`},
	} {
		b.send(c)
	}
	if diff := cmp.Diff([]string{"b/c"}, b.store.Keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	b.store.Lock("b/c", true)
	b.send(call{"DELETE " + list + "/b%2Fc", nil, 403, `"objectUnderActiveHold"`})
	b.send(call{"POST " + insert + "?uploadType=media&name=b/c x", nil, 403, `"objectUnderActiveHold"`})
	b.send(call{"GET " + list + "/b%2Fc", nil, 200, `"temporaryHold":true`})
	b.server.Forbid("storage.objects.list")
	b.send(call{"GET " + list, nil, 403, "Permission 'storage.objects.list' denied"})
}

func TestXML(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	absent := map[string]string{"X-Goog-If-Generation-Match": "0"}
	for _, c := range []call{
		{"PUT /dumps/b/c first", absent, 200, ""},
		{"PUT /dumps/b/c other", absent, 412, "<Code>PreconditionFailed</Code>"},
		{"PUT /dumps/b/c other", map[string]string{"X-Goog-If-Generation-Match": "none"}, 400, "<Code>InvalidArgument</Code>"},
		{"PUT /dumps/sum 123456789", map[string]string{"X-Goog-Hash": "crc32c=4waSgw==,md5=JfnnlDI7RTiF9RgfG2JNCw=="}, 200, ""},
		{"PUT /dumps/n 123456789", map[string]string{"X-Goog-Hash": "md5=AAAA"}, 400, "MD5"},
		{"PUT /dumps/n?uploads x", nil, 400, "query"},
		{"GET /dumps/b/c", nil, 200, "first"},
		{"GET /dumps/b/c", map[string]string{"Range": "bytes=1-2"}, 206, "ir"},
		{"GET /dumps/n", nil, 404, "<Code>NoSuchKey</Code>"},
		{"GET /none/n", nil, 404, "<Code>NoSuchBucket</Code>"},
		{"GET /dumps/b/c", map[string]string{"Authorization": ""}, 401, "<Code>AuthenticationRequired</Code>"},
		{"PUT /dumps/b/c other", nil, 200, ""},
		{"GET /dumps/b/c", nil, 200, "other"},
		{"DELETE /dumps/b/c", nil, 204, ""},
		{"POST /token", nil, http.StatusTeapot, ""},
		{"POST /v1/token", nil, http.StatusTeapot, ""},
	} {
		b.send(c)
	}
	if got := b.send(call{"GET /dumps/sum", nil, 200, "123456789"}).Header().Get("X-Goog-Hash"); got != "crc32c=4waSgw==,md5=JfnnlDI7RTiF9RgfG2JNCw==" {
		t.Errorf("checksums %q", got)
	}
}

// exchange asks for a token with a boundary; a change is made to the form before.
func (b *bench) exchange(options string, status int, change func(url.Values)) string {
	b.Helper()
	const access = "urn:ietf:params:oauth:token-type:access_token"
	form := url.Values{
		"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "subject_token": {"hub-token"},
		"subject_token_type": {access}, "requested_token_type": {access}, "options": {options},
	}
	if change != nil {
		change(form)
	}
	w := b.send(call{"POST /v1/token " + form.Encode(), map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Authorization": ""}, status, ""})
	var answer struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int    `json:"expires_in"`
		Error       string `json:"error"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		b.Fatal(err)
	}
	if good := status == http.StatusOK; good != (answer.AccessToken != "") || good != (answer.ExpiresIn == 3600) || good != (answer.Error == "") {
		b.Errorf("answer %s", w.Body)
	}
	return answer.AccessToken
}

func options(resource, role, expression string) string {
	return fmt.Sprintf(`{"accessBoundary": {"accessBoundaryRules": [{"availableResource": %q, "availablePermissions": [%q], "availabilityCondition": {"expression": %q}}]}}`,
		resource, role, expression)
}

const (
	dumps   = "//storage.googleapis.com/projects/_/buckets/dumps"
	creator = "inRole:roles/storage.objectCreator"
	viewer  = "inRole:roles/storage.objectViewer"
	within  = "resource.name.startsWith('projects/_/buckets/dumps/objects/a/')"
)

func TestBoundaries(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.Put("a/there", []byte("x"))
	b.store.Put("b/there", []byte("x"))
	token := func(resource, role, expression string) map[string]string {
		return map[string]string{"Authorization": "Bearer " + b.exchange(options(resource, role, expression), http.StatusOK, nil)}
	}
	create, view := token(dumps, creator, within), token(dumps, viewer, within)
	other := token("//storage.googleapis.com/projects/_/buckets/dumps-of-others", viewer, "resource.name.startsWith('projects/')")
	two := token(dumps, viewer, "resource.name == 'projects/_/buckets/dumps/objects/b' || resource.name == 'projects/_/buckets/dumps/objects/b/there'")
	whole := b.exchange(`{"accessBoundary": {"accessBoundaryRules": [{"availableResource": "`+dumps+`", "availablePermissions": ["`+viewer+`"]}]}}`, http.StatusOK, nil)
	for _, c := range []call{
		{"PUT /dumps/a/new x", create, 200, ""},
		{"PUT /dumps/a/new y", create, 403, "storage.objects.delete"},
		{"PUT /dumps/b/new x", create, 403, "storage.objects.create"},
		{"PUT /dumps/a x", create, 403, "storage.objects.create"},
		{"GET /dumps/a/there", create, 403, "storage.objects.get"},
		{"DELETE /dumps/a/there", create, 403, "storage.objects.delete"},
		{"GET /dumps/a/there", view, 200, "x"},
		{"GET /dumps/b/there", view, 403, "storage.objects.get"},
		{"PUT /dumps/a/n x", view, 403, "storage.objects.create"},
		{"DELETE /dumps/a/there", view, 403, "storage.objects.delete"},
		{"GET " + list + "?prefix=a/", view, 403, "storage.objects.list"},
		{"GET " + list + "/a%2Fthere", view, 200, ""},
		{"GET /dumps/a/there", other, 403, ""},
		{"GET /dumps/b/there", two, 200, ""},
		{"GET /dumps/a/there", two, 403, ""},
		{"GET " + list, map[string]string{"Authorization": "Bearer " + whole}, 200, "a/there"},
	} {
		b.send(c)
	}
	b.clock.Step(time.Hour - time.Second)
	b.send(call{"GET /dumps/a/there", view, 200, "x"})
	b.clock.Step(time.Second)
	b.send(call{"GET /dumps/a/there", view, 401, "<Code>AuthenticationRequired</Code>"})
}

func TestBoundariesAreChecked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	good := options(dumps, viewer, within)
	for _, wrong := range []string{
		"", "{}", "[]", good + "x", `{"accessBoundary": {"accessBoundaryRules": []}}`, strings.Replace(good, "availableResource", "resource", 1),
		options("", viewer, within), options("//storage.googleapis.com/projects/p/buckets/dumps", viewer, within), options(dumps+"/objects/a", viewer, within),
		options(dumps, "roles/storage.objectViewer", within), options(dumps, "inRole:roles/owner", within), options(dumps, "", within),
		options(dumps, viewer, ""), options(dumps, viewer, "true"), options(dumps, viewer, within+" && true"), options(dumps, viewer, within+" || true"),
		options(dumps, viewer, "resource.name == 'a')"), options(dumps, viewer, "resource.name.startsWith('a'"), options(dumps, viewer, `resource.name == 'a' || ''`),
		options(dumps, viewer, "resource.name == '"+strings.Repeat("a", 2048)+"'"),
	} {
		b.exchange(wrong, http.StatusBadRequest, nil)
	}
	narrow := b.exchange(good, http.StatusOK, nil)
	for name, value := range map[string]string{"grant_type": "x", "requested_token_type": "x", "subject_token": "x"} {
		b.exchange(good, http.StatusBadRequest, func(form url.Values) { form.Set(name, value) })
	}
	b.exchange(good, http.StatusBadRequest, func(form url.Values) { form.Set("subject_token", narrow) })
}
