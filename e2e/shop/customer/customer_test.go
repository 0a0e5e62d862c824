package customer_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/e2e/shop/customer"
)

// TestEachOrderHasAnOutcome makes the shop refuse every third order.
func TestEachOrderHasAnOutcome(t *testing.T) {
	var sent atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("GET /order", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /orders/{id}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		if r.PostFormValue("key") == "" || r.PostFormValue("quantity-filters") != "1" {
			t.Errorf("form %v", r.PostForm)
		}
		if sent.Add(1)%3 == 0 {
			http.Error(w, "no", http.StatusServiceUnavailable)
			return
		}
		http.Redirect(w, r, "/orders/one", http.StatusSeeOther)
	})
	shop := httptest.NewServer(mux)
	defer shop.Close()

	var out bytes.Buffer
	err := customer.Run(t.Context(), customer.Options{
		URL: shop.URL, Client: shop.Client(), Customers: 2, Orders: 3, Output: &out,
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var got customer.Summary
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(customer.Summary{Placed: 4, Failed: 2}, got); diff != "" {
		t.Error(diff)
	}
	placed, failed := 0, 0
	for _, line := range lines[:len(lines)-1] {
		var o customer.Outcome
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatal(err)
		}
		switch {
		case o.Order == "one" && o.Error == "":
			placed++
		case o.Order == "" && strings.Contains(o.Error, "code 503"):
			failed++
		}
	}
	if placed != 4 || failed != 2 {
		t.Errorf("outcomes:\n%s", out.String())
	}
}
