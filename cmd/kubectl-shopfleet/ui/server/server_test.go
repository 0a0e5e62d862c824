package server_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/hubstate"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/server"
	"github.com/shopfleet/shopfleet/e2e/framework/largefleet"
)

// source has a Snapshot that a test replaces.
type source struct{ known *hubstate.Snapshot }

// Snapshot implements server.Source.
func (s *source) Snapshot() *hubstate.Snapshot { return s.known }

// fixture is a server, at port 8080 unless a test is about ports.
type fixture struct {
	server *server.Server
	source *source
	clock  *clocktesting.FakeClock
	// base is the path of the printed address, and path that with its token.
	base, path string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newFixtureAt(t, 8080)
}

func newFixtureAt(t *testing.T, port int) *fixture {
	t.Helper()
	f := &fixture{clock: clocktesting.NewFakeClock(time.Date(2026, time.November, 29, 3, 0, 0, 0, time.UTC))}
	member := apitest.MemberCluster("eu-1").With(func(m *v1.MemberCluster) { m.Status.Region = "eu-west-1" }).Obj()
	f.source = &source{&hubstate.Snapshot{Members: []v1.MemberCluster{*member}, Sources: []hubstate.Source{{Kind: hubstate.Members, Read: true}}}}
	var printed string
	var err error
	f.server, printed, err = server.New(server.Options{
		Source: f.source, Clock: f.clock, Address: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port},
	})
	if err != nil {
		t.Fatal(err)
	}
	path, ok := strings.CutPrefix(printed, fmt.Sprintf("http://127.0.0.1:%d", port))
	if !ok {
		t.Fatalf("the address is %s", printed)
	}
	f.path = path
	f.base, _, ok = strings.Cut(path, "?token=")
	if !ok || len(f.base) < 20 {
		t.Fatalf("the path is %s", path)
	}
	return f
}

// get sends a request that change may change. A path that begins with ~/ is below that of the printed address.
func (f *fixture) get(t *testing.T, path string, change func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	if below, ok := strings.CutPrefix(path, "~/"); ok {
		path = f.base + below
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
	r.Host = "127.0.0.1:8080"
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	f.server.ServeHTTP(w, r)
	return w
}

// admitted opens the printed address, and returns what adds the cookie to a request.
func (f *fixture) admitted(t *testing.T) func(*http.Request) {
	t.Helper()
	answer := f.get(t, f.path, nil)
	cookies := (&http.Response{Header: answer.Header()}).Cookies()
	if answer.Code != http.StatusOK || len(cookies) != 1 {
		t.Fatalf("the printed address answers %d with %d cookies", answer.Code, len(cookies))
	}
	c := cookies[0]
	if c.Name != "shopfleet-ui-8080" || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != f.base {
		t.Errorf("the cookie is %v", c)
	}
	return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value}) }
}

// TestRefusals: all but the browser that opened the address is refused.
func TestRefusals(t *testing.T) {
	f := newFixture(t)
	cookie := f.admitted(t)
	for name, tt := range map[string]struct {
		path   string
		change func(*http.Request)
		want   int
	}{
		"the admitted browser":  {"~/", cookie, http.StatusOK},
		"by the other name":     {"~/", func(r *http.Request) { cookie(r); r.Host = "localhost:8080" }, http.StatusOK},
		"an asset":              {"~/assets/style.css", cookie, http.StatusOK},
		"a screen":              {"~/regions", cookie, http.StatusOK},
		"another path":          {"/", cookie, http.StatusForbidden},
		"a screen elsewhere":    {"/regions", cookie, http.StatusForbidden},
		"without the port":      {"~/", func(r *http.Request) { cookie(r); r.Host = "127.0.0.1" }, http.StatusForbidden},
		"no list of the assets": {"~/assets/", cookie, http.StatusNotFound},
		"no such path":          {"~/secrets", cookie, http.StatusNotFound},
		"without the cookie":    {"~/", nil, http.StatusForbidden},
		"an asset without it":   {"~/assets/style.css", nil, http.StatusForbidden},
		"a stream without it":   {"~/live/needs", nil, http.StatusForbidden},
		"another cookie":        {"~/", func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "shopfleet-ui-8080", Value: "x"}) }, http.StatusForbidden},
		"the cookie of other ports": {"~/", func(r *http.Request) {
			cookie(r)
			r.Header.Set("Cookie", strings.Replace(r.Header.Get("Cookie"), "8080", "8081", 1))
		}, http.StatusForbidden},
		"the token again":           {f.path, nil, http.StatusForbidden},
		"the token again, admitted": {f.path, cookie, http.StatusForbidden},
		"another token":             {"~/?token=x", nil, http.StatusForbidden},
		"no token":                  {"~/?token=", nil, http.StatusForbidden},
		"another host":              {"~/", func(r *http.Request) { cookie(r); r.Host = "evil.example.com:8080" }, http.StatusForbidden},
		"another port":              {"~/", func(r *http.Request) { cookie(r); r.Host = "127.0.0.1:80" }, http.StatusForbidden},
		"no host":                   {"~/", func(r *http.Request) { cookie(r); r.Host = "" }, http.StatusForbidden},
		"POST":                      {"~/", func(r *http.Request) { cookie(r); r.Method = http.MethodPost }, http.StatusForbidden},
		"DELETE":                    {"~/", func(r *http.Request) { cookie(r); r.Method = http.MethodDelete }, http.StatusForbidden},
		"OPTIONS":                   {"~/", func(r *http.Request) { cookie(r); r.Method = http.MethodOptions }, http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			answer := f.get(t, tt.path, tt.change)
			if answer.Code != tt.want {
				t.Errorf("it answers %d, want %d", answer.Code, tt.want)
			}
			if got := answer.Header().Get("Content-Security-Policy"); !strings.HasPrefix(got, "default-src 'self';") {
				t.Errorf("the policy is %q", got)
			}
		})
	}
}

// TestDefaultPort: browsers leave port 80 out of the host.
func TestDefaultPort(t *testing.T) {
	f := newFixtureAt(t, 80)
	for _, host := range []string{"127.0.0.1", "localhost", "127.0.0.1:80"} {
		answer := f.get(t, "~/", func(r *http.Request) { r.Host = host })
		if text := answer.Body.String(); !strings.HasPrefix(text, "Open the address") {
			t.Errorf("%s: %s", host, text)
		}
	}
	if answer := f.get(t, f.path, func(r *http.Request) { r.Host = "127.0.0.1" }); answer.Code != http.StatusOK {
		t.Errorf("the printed address answers %d", answer.Code)
	}
}

// TestCookieElsewhere: a browser sends the cookie to no other server of the machine.
func TestCookieElsewhere(t *testing.T) {
	f := newFixture(t)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	at := func(host, path string) *url.URL { return &url.URL{Scheme: "http", Host: host, Path: path} }
	answer := f.get(t, f.path, nil)
	jar.SetCookies(at("127.0.0.1:8080", f.base), (&http.Response{Header: answer.Header()}).Cookies())
	if sent := jar.Cookies(at("127.0.0.1:8080", f.base+"live/needs")); len(sent) != 1 {
		t.Errorf("the page gets %d cookies", len(sent))
	}
	for _, path := range []string{"/", "/regions", "/live/needs"} {
		if sent := jar.Cookies(at("127.0.0.1:9999", path)); len(sent) > 0 {
			t.Errorf("another server gets %v for %s", sent, path)
		}
	}
}

// TestTokenElsewhere: a token is not used up by a request to another host, or for another path.
func TestTokenElsewhere(t *testing.T) {
	f := newFixture(t)
	if answer := f.get(t, f.path, func(r *http.Request) { r.Host = "evil.example.com" }); answer.Code != http.StatusForbidden {
		t.Errorf("it answers %d", answer.Code)
	}
	if answer := f.get(t, "/"+f.path[len(f.base):], nil); answer.Code != http.StatusForbidden {
		t.Errorf("it answers %d for another path", answer.Code)
	}
	f.admitted(t)
}

// TestStream: a stream begins with all parts. A second later it has the time, and the view only if that has changed.
func TestStream(t *testing.T) {
	f := newFixture(t)
	first, second := f.stream(t, "needs")
	for _, part := range []string{`hx-target="#bar"`, `hx-target="#view"`, "03:00:00 UTC", "of 1 clusters answer"} {
		if !strings.Contains(first, part) {
			t.Errorf("the first message lacks %q", part)
		}
	}
	if !strings.Contains(second, "03:00:01 UTC") || strings.Contains(second, "#view") {
		t.Errorf("the second message is %q", second)
	}
}

// TestLargeStream counts what a stream of a large fleet sends when nothing but the time has changed: no more than the whole
// view of the one screen that is open.
func TestLargeStream(t *testing.T) {
	var known *hubstate.Snapshot
	for _, tt := range []struct {
		screen string
		kib    int
	}{{"needs", 12}, {"regions", 272}, {"moving", 128}, {"loss", 1}, {"why", 168}} {
		f := newFixture(t)
		if known == nil {
			known = largefleet.New(f.clock.Now())
		}
		f.source.known = known
		first, second := f.stream(t, tt.screen)
		t.Logf("%s: the first message has %d KiB, the next one %d", tt.screen, len(first)/1024, len(second)/1024)
		if kib := len(second) / 1024; kib > tt.kib {
			t.Errorf("%s: a message has %d KiB, want at most %d", tt.screen, kib, tt.kib)
		}
	}
}

// stream returns the first message of the stream of a screen, and that of a second later.
func (f *fixture) stream(t *testing.T, screen string) (first, second string) {
	t.Helper()
	cookie := f.admitted(t)
	serving := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = "127.0.0.1:8080"
		f.server.ServeHTTP(w, r)
	}))
	defer serving.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, serving.URL+f.base+"live/"+screen, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	cookie(request)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	messages := bufio.NewReader(answer.Body)
	first = next(t, messages)
	for !f.clock.HasWaiters() {
		time.Sleep(time.Millisecond)
	}
	f.clock.Step(time.Second)
	return first, next(t, messages)
}

// next reads a message of a stream.
func next(t *testing.T, from *bufio.Reader) string {
	t.Helper()
	var b strings.Builder
	for {
		line, err := from.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == "\n" && b.Len() > 0 {
			return b.String()
		}
		if line != "\n" {
			b.WriteString(line)
		}
	}
}
