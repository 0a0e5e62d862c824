package web_test

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/shopfleet/shopfleet/e2e/shop"
	"github.com/shopfleet/shopfleet/e2e/shop/httpapi"
	"github.com/shopfleet/shopfleet/e2e/shop/store/storetest"
	"github.com/shopfleet/shopfleet/e2e/shop/web"
)

// site is a frontend with the real API on a store in memory. Each request to the API
// passes through before, which may respond itself.
type site struct {
	pages  http.Handler
	memory *storetest.Memory
	before atomic.Pointer[func(w http.ResponseWriter, r *http.Request, next http.Handler)]
}

func newSite(t *testing.T, version string) *site {
	t.Helper()
	release := shop.NewRelease(version)
	log := slog.New(slog.DiscardHandler)
	s := &site{memory: storetest.NewMemory(release, storetest.Clock())}
	next := httpapi.New(s.memory, log, prometheus.NewRegistry())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before := s.before.Load(); before != nil {
			(*before)(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.pages = newPages(t, server.URL, version)
	return s
}

func newPages(t *testing.T, backendURL, version string) http.Handler {
	t.Helper()
	backend, err := web.NewBackend(backendURL, 2*time.Second, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	pages, err := web.New(web.Options{
		Backend: backend, Release: shop.NewRelease(version), Region: "eu-west-1", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

func (s *site) intercept(f func(w http.ResponseWriter, r *http.Request, next http.Handler)) {
	s.before.Store(&f)
}

func visit(t *testing.T, pages http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	pages.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w
}

func send(t *testing.T, pages http.Handler, form url.Values, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/orders", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	pages.ServeHTTP(w, r)
	return w
}

// fill opens the order form and returns what a browser would send.
func fill(t *testing.T, pages http.Handler) url.Values {
	t.Helper()
	page := visit(t, pages, "/order?product=beans").Body.String()
	form := fields(page)
	if form.Get("quantity-beans") != "1" || form.Get("quantity-kettle") != "0" || shop.CheckKey(form.Get("key")) != nil {
		t.Fatalf("the form is %v:\n%s", form, page)
	}
	form.Set("customer", "Ada <Lovelace>")
	return form
}

func fields(page string) url.Values {
	form := url.Values{}
	for _, input := range regexp.MustCompile(`<input [^>]*>`).FindAllString(page, -1) {
		name := regexp.MustCompile(` name="([^"]*)"`).FindStringSubmatch(input)
		value := regexp.MustCompile(` value="([^"]*)"`).FindStringSubmatch(input)
		if name != nil && value != nil {
			form.Set(name[1], value[1])
		}
	}
	return form
}

func (s *site) orders(t *testing.T) []shop.Order {
	t.Helper()
	s.memory.Fail(nil)
	orders, err := s.memory.Orders(t.Context(), shop.Page{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return orders
}

func contains(t *testing.T, page *httptest.ResponseRecorder, code int, texts ...string) {
	t.Helper()
	if page.Code != code {
		t.Errorf("code %d, want %d", page.Code, code)
	}
	for _, text := range texts {
		if !strings.Contains(page.Body.String(), text) {
			t.Errorf("no %q on the page:\n%s", text, page.Body)
		}
	}
}

func TestOrder(t *testing.T) {
	s := newSite(t, "v2.1.0")
	contains(t, visit(t, s.pages, "/"), 200, "Beans", "€ 12.50", "v2.1.0", "served from eu-west-1", "New: add a gift note")
	contains(t, visit(t, s.pages, "/orders"), 200, "No orders yet")
	form := fill(t, s.pages)
	form.Set("quantity-kettle", "2")
	form.Set("note", "Enjoy")
	first := send(t, s.pages, form, "Sec-Fetch-Site", "same-origin")
	again := send(t, s.pages, form) // The customer clicks twice.
	target := first.Header().Get("Location")
	if first.Code != http.StatusSeeOther || again.Header().Get("Location") != target {
		t.Fatalf("placing: %d to %q, again to %q", first.Code, target, again.Header().Get("Location"))
	}
	contains(t, visit(t, s.pages, target), 200, "Thank you, Ada &lt;Lovelace&gt;", "€ 250.50", "Enjoy", "€ 238.00")
	contains(t, visit(t, s.pages, "/orders"), 200, "Ada &lt;Lovelace&gt;", target)
	if orders := s.orders(t); len(orders) != 1 {
		t.Errorf("%d orders", len(orders))
	}
}

func TestOlderRelease(t *testing.T) {
	s := newSite(t, "v2.0.0")
	for _, path := range []string{"/", "/order"} {
		page := visit(t, s.pages, path)
		contains(t, page, 200, "v2.0.0")
		if strings.Contains(strings.ToLower(page.Body.String()), "gift note") {
			t.Errorf("%s offers gift notes", path)
		}
	}
}

func TestWrongForm(t *testing.T) {
	cases := map[string]struct {
		field, value string
		code         int
		text         string
	}{
		"no name":      {"customer", "", 422, "customer: is required"},
		"nothing":      {"quantity-beans", "0", 422, "choose at least one product"},
		"not a number": {"quantity-beans", "many", 422, "quantity of beans: is not a number"},
		"too many":     {"quantity-beans", "100", 422, "must be between 1 and 99"},
		"no product":   {"quantity-tea", "1", 422, "there is no product &#34;tea&#34;"},
		"no key":       {"key", "", 422, "Idempotency-Key"},
		"too large":    {"customer", strings.Repeat("x", 20<<10), 400, "could not be read"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, "v2.1.0")
			form := fill(t, s.pages)
			form.Set(c.field, c.value)
			page := send(t, s.pages, form)
			contains(t, page, c.code, c.text)
			if orders := s.orders(t); len(orders) > 0 {
				t.Errorf("placed %v", orders)
			}
			if c.code != 422 {
				return
			}
			mended := fields(page.Body.String())
			if c.field != "key" && mended.Get("key") != form.Get("key") {
				t.Errorf("the key became %q", mended.Get("key"))
			}
			mended.Set("customer", "Ada")
			mended.Set("quantity-beans", "1")
			if w := send(t, s.pages, mended); w.Code != http.StatusSeeOther {
				t.Errorf("the mended form: %d", w.Code)
			}
		})
	}
}

func TestBackendAway(t *testing.T) {
	s := newSite(t, "v2.1.0")
	form := fill(t, s.pages)
	s.memory.Fail(shop.ErrUnavailable)
	for _, path := range []string{"/", "/order", "/orders", "/orders/1"} {
		page := visit(t, s.pages, path)
		contains(t, page, 503, "Back in a moment")
		if page.Header().Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", path)
		}
	}
	page := send(t, s.pages, form)
	contains(t, page, 503, "Back in a moment", "Send my order again", form.Get("key"))
	s.memory.Fail(nil)
	kept := fields(page.Body.String())
	kept.Set("customer", form.Get("customer")) // The browser would undo the page's escapes.
	if w := send(t, s.pages, kept); w.Code != http.StatusSeeOther {
		t.Errorf("sending it again: %d", w.Code)
	}
	if orders := s.orders(t); len(orders) != 1 {
		t.Errorf("%d orders", len(orders))
	}
	contains(t, visit(t, newPages(t, "", "v2.1.0"), "/"), 503, "Back in a moment")
	s.memory.Fail(errors.New("hidden"))
	contains(t, visit(t, s.pages, "/"), 500, "It is our fault")
}

// TestLostResponse checks an order that is placed, but whose response is lost.
func TestLostResponse(t *testing.T) {
	cases := map[string]func(w http.ResponseWriter, r *http.Request){
		"connection cut": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"no answer":      func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"a proxy's 502":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
	}
	for name, lose := range cases {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, "v2.1.0")
			form := fill(t, s.pages)
			var posts atomic.Int32
			s.intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if r.Method == http.MethodPost && posts.Add(1) == 1 {
					next.ServeHTTP(httptest.NewRecorder(), r)
					lose(w, r)
					return
				}
				next.ServeHTTP(w, r)
			})
			if w := send(t, s.pages, form); w.Code != http.StatusSeeOther {
				t.Errorf("placing: %d %s", w.Code, w.Body)
			}
			if orders := s.orders(t); len(orders) != 1 || posts.Load() < 2 {
				t.Errorf("%d orders by %d requests", len(orders), posts.Load())
			}
		})
	}
}

// TestRefusalIsNotRepeated counts the requests to a backend that refuses them.
func TestRefusalIsNotRepeated(t *testing.T) {
	s := newSite(t, "v2.1.0")
	var calls atomic.Int32
	for code, want := range map[int]int32{404: 1, 409: 1, 500: 1, 502: 2, 503: 2, 504: 2} {
		calls.Store(0)
		s.intercept(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			calls.Add(1)
			w.WriteHeader(code)
		})
		visit(t, s.pages, "/orders/1")
		if calls.Load() != want {
			t.Errorf("code %d: %d requests, want %d", code, calls.Load(), want)
		}
	}
}

func TestOtherSites(t *testing.T) {
	cases := map[string]struct {
		header []string
		code   int
	}{
		"same origin":     {[]string{"Sec-Fetch-Site", "same-origin"}, 303},
		"another site":    {[]string{"Sec-Fetch-Site", "cross-site"}, 403},
		"a sister site":   {[]string{"Sec-Fetch-Site", "same-site"}, 403},
		"older, same":     {[]string{"Origin", "http://example.com"}, 303},
		"older, another":  {[]string{"Origin", "https://evil.example"}, 403},
		"no browser":      {nil, 303},
		"an opaque frame": {[]string{"Origin", "null"}, 403},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, "v2.1.0")
			if w := send(t, s.pages, fill(t, s.pages), c.header...); w.Code != c.code {
				t.Errorf("code %d, want %d", w.Code, c.code)
			}
			if got, want := len(s.orders(t)), map[bool]int{true: 1}[c.code == 303]; got != want {
				t.Errorf("%d orders, want %d", got, want)
			}
		})
	}
}

// TestPolicy checks that the browser may use the style that each page has.
func TestPolicy(t *testing.T) {
	s := newSite(t, "v2.1.0")
	for _, path := range []string{"/", "/order", "/orders", "/nothing"} {
		page := visit(t, s.pages, path)
		_, style, _ := strings.Cut(page.Body.String(), "<style>")
		style, _, found := strings.Cut(style, "</style>")
		sum := sha256.Sum256([]byte(style))
		policy := page.Header().Get("Content-Security-Policy")
		if !found || !strings.Contains(policy, base64.StdEncoding.EncodeToString(sum[:])) {
			t.Errorf("%s: the style is not that of the policy %q", path, policy)
		}
		for _, header := range []string{"X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy", "Cache-Control"} {
			if page.Header().Get(header) == "" {
				t.Errorf("%s: no %s", path, header)
			}
		}
	}
}

func TestBackendURL(t *testing.T) {
	for given, fine := range map[string]bool{
		"": true, "http://shop-backend": true, "http://shop-backend:8080/": true, "https://10.0.0.1": true,
		"shop-backend": false, "ftp://shop": false, "http://": false, "::": false,
	} {
		_, err := web.NewBackend(given, time.Second, prometheus.NewRegistry())
		if (err == nil) != fine {
			t.Errorf("%q: %v", given, err)
		}
	}
}
