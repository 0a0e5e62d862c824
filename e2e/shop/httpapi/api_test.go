package httpapi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/shopfleet/shopfleet/e2e/shop"
	"github.com/shopfleet/shopfleet/e2e/shop/httpapi"
	"github.com/shopfleet/shopfleet/e2e/shop/store/storetest"
)

func newAPI() (http.Handler, *storetest.Memory) {
	memory := storetest.NewMemory(shop.NewRelease("v2.1.0"), storetest.Clock())
	return httpapi.New(memory, slog.New(slog.DiscardHandler), prometheus.NewRegistry()), memory
}

type call struct {
	method, path, key, body string
	kind                    string // application/json if empty.
}

func (c call) do(t *testing.T, h http.Handler) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), c.method, c.path, strings.NewReader(c.body))
	r.Header.Set("Content-Type", "application/json")
	if c.kind != "" {
		r.Header.Set("Content-Type", c.kind)
	}
	if c.key != "" {
		r.Header.Set(shop.KeyHeader, c.key)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func read[T any](t *testing.T, w *httptest.ResponseRecorder) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("answer %d is no JSON: %v\n%s", w.Code, err, w.Body)
	}
	return v
}

const order = `{"customer": "Ada", "items": [{"productId": "beans", "quantity": 2}]}`

func TestRefusals(t *testing.T) {
	place := func(body string) call { return call{method: "POST", path: "/api/orders", key: "key-00001", body: body} }
	cases := map[string]struct {
		call  call
		code  int
		error string // Part of it.
	}{
		"no key":          {call{method: "POST", path: "/api/orders", body: order}, 400, "invalid request"},
		"odd key":         {call{method: "POST", path: "/api/orders", key: "a b c d e", body: order}, 400, "invalid request"},
		"form":            {call{method: "POST", path: "/api/orders", key: "key-00001", body: order, kind: "text/plain"}, 415, "application/json"},
		"no body":         {place(""), 400, "not the JSON of an order"},
		"half a body":     {place(order[:20]), 400, "not the JSON of an order"},
		"wrong type":      {place(`{"customer": 7}`), 400, "not the JSON of an order"},
		"two orders":      {place(order + order), 400, "more than one value"},
		"large":           {place(`{"customer": "` + strings.Repeat("x", 20<<10) + `"}`), 413, "larger than 16384 bytes"},
		"no name":         {place(strings.Replace(order, "Ada", " ", 1)), 422, "invalid request"},
		"no product":      {place(strings.Replace(order, "beans", "tea", 1)), 422, "invalid request"},
		"too many":        {place(strings.Replace(order, "2", "100", 1)), 422, "invalid request"},
		"no such order":   {call{method: "GET", path: "/api/orders/17"}, 404, "no such order"},
		"no such page":    {call{method: "GET", path: "/api/customers"}, 404, "no such page"},
		"no such method":  {call{method: "DELETE", path: "/api/orders"}, 405, "want one of GET, HEAD, POST"},
		"limit too high":  {call{method: "GET", path: "/api/orders?limit=101"}, 400, "between 1 and 100"},
		"limit no number": {call{method: "GET", path: "/api/orders?limit=x"}, 400, "between 1 and 100"},
		"odd before":      {call{method: "GET", path: "/api/orders?before=" + strings.Repeat("1", 33)}, 400, "not the id of an order"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h, memory := newAPI()
			w := c.call.do(t, h)
			failure := read[httpapi.Failure](t, w)
			if w.Code != c.code || !strings.Contains(failure.Error, c.error) {
				t.Errorf("answer %d %q, want %d with %q", w.Code, failure.Error, c.code, c.error)
			}
			if (failure.Error == "invalid request") != (len(failure.Problems) > 0) {
				t.Errorf("code %d with problems %v", w.Code, failure.Problems)
			}
			if orders, _ := memory.Orders(t.Context(), shop.Page{Limit: 9}); len(orders) > 0 {
				t.Errorf("orders were placed: %v", orders)
			}
		})
	}
}

func TestPlaceAndRead(t *testing.T) {
	h, _ := newAPI()
	place := call{method: "POST", path: "/api/orders", key: "key-00001", body: strings.Replace(order, "{", `{"new": 1, `, 1)}
	first := place.do(t, h)
	placed := read[shop.Order](t, first)
	if first.Code != http.StatusCreated || first.Header().Get("Location") != "/api/orders/"+placed.ID || placed.TotalCents != 2500 {
		t.Errorf("placing: %d, %v, %+v", first.Code, first.Header(), placed)
	}
	again := place.do(t, h)
	if again.Code != http.StatusOK || again.Header().Get(shop.ReplayHeader) != "true" {
		t.Errorf("placing again: %d %v", again.Code, again.Header())
	}
	if diff := cmp.Diff(placed, read[shop.Order](t, again)); diff != "" {
		t.Errorf("placing again (-first +again):\n%s", diff)
	}
	place.body = strings.Replace(order, "Ada", "Bob", 1)
	if w := place.do(t, h); w.Code != http.StatusConflict {
		t.Errorf("another order with the key: %d %s", w.Code, w.Body)
	}
	got := read[shop.Order](t, call{method: "GET", path: "/api/orders/" + placed.ID}.do(t, h))
	if diff := cmp.Diff(placed, got); diff != "" {
		t.Errorf("reading (-want +got):\n%s", diff)
	}
	products := read[map[string][]shop.Product](t, call{method: "GET", path: "/api/products"}.do(t, h))["products"]
	if len(products) != 2 || products[0].ID != "beans" {
		t.Errorf("products: %v", products)
	}
}

func TestPages(t *testing.T) {
	h, _ := newAPI()
	if w := (call{method: "GET", path: "/api/orders"}).do(t, h); strings.TrimSpace(w.Body.String()) != `{"orders":[]}` {
		t.Errorf("no orders: %s", w.Body)
	}
	for i := range 3 {
		call{method: "POST", path: "/api/orders", key: fmt.Sprintf("key-%05d", i), body: order}.do(t, h)
	}
	first := read[httpapi.OrderList](t, call{method: "GET", path: "/api/orders?limit=2"}.do(t, h))
	second := read[httpapi.OrderList](t, call{method: "GET", path: "/api/orders?limit=2&before=" + first.Next}.do(t, h))
	if len(first.Orders) != 2 || len(second.Orders) != 1 || second.Next != "" {
		t.Fatalf("pages of %d and %d orders, then %q", len(first.Orders), len(second.Orders), second.Next)
	}
	if !first.Orders[1].PlacedAt.After(second.Orders[0].PlacedAt) {
		t.Errorf("orders are not newest first")
	}
}

func TestFailures(t *testing.T) {
	cases := map[string]struct {
		err   error
		code  int
		retry string
		text  string
	}{
		"away":  {fmt.Errorf("%w: hidden", shop.ErrUnavailable), 503, "2", "the shop cannot reach its database, try again"},
		"wrong": {errors.New("hidden"), 500, "", "internal error"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h, memory := newAPI()
			memory.Fail(c.err)
			for _, call := range []call{
				{method: "GET", path: "/api/products"}, {method: "GET", path: "/api/orders"}, {method: "GET", path: "/api/orders/1"},
				{method: "POST", path: "/api/orders", key: "key-00001", body: order},
			} {
				w := call.do(t, h)
				if w.Code != c.code || w.Header().Get("Retry-After") != c.retry {
					t.Errorf("%s %s: %d %v", call.method, call.path, w.Code, w.Header())
				}
				if diff := cmp.Diff(httpapi.Failure{Error: c.text}, read[httpapi.Failure](t, w)); diff != "" {
					t.Errorf("%s %s (-want +got):\n%s", call.method, call.path, diff)
				}
			}
		})
	}
}
