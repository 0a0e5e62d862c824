package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/e2e/shop"
	"github.com/shopfleet/shopfleet/e2e/shop/httpapi"
)

// Open returns an empty, migrated store of a release.
type Open func(t *testing.T, release shop.Release, now func() time.Time) httpapi.Store

// Clock returns a clock that goes on by a second each time it is read.
func Clock() func() time.Time {
	var mu sync.Mutex
	at := time.Date(2026, 3, 1, 9, 30, 0, 123456789, time.UTC)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		at = at.Add(time.Second)
		return at
	}
}

// Contract tests the behaviour that users of a store rely on.
func Contract(t *testing.T, open Open) {
	t.Helper()
	newest := shop.NewRelease("v2.1.0")
	t.Run("an order is kept as it was placed", func(t *testing.T) { kept(t, open(t, newest, Clock())) })
	t.Run("a key is one order", func(t *testing.T) { replayed(t, open(t, newest, Clock())) })
	t.Run("what cannot be placed leaves nothing", func(t *testing.T) { refused(t, open(t, newest, Clock())) })
	t.Run("orders come in pages, newest first", func(t *testing.T) { paged(t, open(t, newest, Clock())) })
	t.Run("an older release drops notes", func(t *testing.T) { noNotes(t, open(t, shop.NewRelease("v2.0.0"), Clock())) })
	t.Run("a hundred customers at once", func(t *testing.T) { testManyCustomers(t, open(t, newest, Clock())) })
	t.Run("calls that are given up fail", func(t *testing.T) { givenUp(t, open(t, newest, Clock())) })
}

func kept(t *testing.T, s httpapi.Store) {
	t.Helper()
	if err := s.Ready(t.Context()); err != nil {
		t.Fatalf("not ready: %v", err)
	}
	products := assortment(t, s)
	first, second := products[0], products[1]
	draft := shop.Draft{Customer: "Zoë Ødegård 咖啡 ☕", Note: "Viel Glück! 🎁", Items: []shop.Item{
		{ProductID: first.ID, Quantity: 3}, {ProductID: second.ID, Quantity: shop.MaxQuantity},
	}}.Clean()
	placed, created, err := s.PlaceOrder(t.Context(), "key-00001", draft)
	if err != nil || !created {
		t.Fatalf("placing: created %v, error %v", created, err)
	}
	want := shop.Order{
		ID: placed.ID, Customer: draft.Customer, Note: draft.Note, Lines: placed.Lines,
		TotalCents: 3*first.PriceCents + shop.MaxQuantity*second.PriceCents,
		PlacedAt:   time.Date(2026, 3, 1, 9, 30, 1, 123000000, time.UTC),
	}
	if diff := cmp.Diff(want, placed); diff != "" {
		t.Errorf("placed order (-want +got):\n%s", diff)
	}
	for _, line := range placed.Lines {
		if line.ProductID == first.ID {
			expect(t, line, shop.Line{ProductID: first.ID, Name: first.Name, Quantity: 3, PriceCents: first.PriceCents})
		}
	}
	expect(t, len(placed.Lines), 2)
	read, err := s.Order(t.Context(), placed.ID)
	if err != nil {
		t.Fatalf("reading: %v", err)
	}
	expect(t, read, placed)
	if _, err := s.Order(t.Context(), "00000000000000000000000000000000"); !errors.Is(err, shop.ErrNotFound) {
		t.Errorf("reading an order that is not there: %v", err)
	}
}

func replayed(t *testing.T, s httpapi.Store) {
	t.Helper()
	draft := draftOf(t, s)
	first, _, err := s.PlaceOrder(t.Context(), "key-00001", draft)
	if err != nil {
		t.Fatal(err)
	}
	draft.Note = "another release dropped this"
	again, created, err := s.PlaceOrder(t.Context(), "key-00001", draft)
	if err != nil || created {
		t.Fatalf("placing again: created %v, error %v", created, err)
	}
	expect(t, again, first)
	other := draft
	other.Customer = "Bob"
	if _, _, err := s.PlaceOrder(t.Context(), "key-00001", other); !errors.Is(err, shop.ErrKeyReused) {
		t.Errorf("the key with another order: %v, want %v", err, shop.ErrKeyReused)
	}
	// Keys that differ in case are two keys.
	if _, created, err := s.PlaceOrder(t.Context(), "KEY-00001", draft); err != nil || !created {
		t.Errorf("the key in capitals: created %v, error %v", created, err)
	}
	expect(t, len(all(t, s)), 2)
}

func refused(t *testing.T, s httpapi.Store) {
	t.Helper()
	draft := draftOf(t, s)
	draft.Items = append(draft.Items, shop.Item{ProductID: "zeppelin", Quantity: 1})
	_, _, err := s.PlaceOrder(t.Context(), "key-00001", draft)
	invalid, ok := errors.AsType[*shop.InvalidError](err)
	if !ok {
		t.Fatalf("placing an unknown product: %v", err)
	}
	expect(t, invalid.Problems, []shop.Problem{{Field: "items", Message: `there is no product "zeppelin"`}})
	expect(t, len(all(t, s)), 0)
	draft.Items = draft.Items[:1]
	if _, created, err := s.PlaceOrder(t.Context(), "key-00001", draft); err != nil || !created {
		t.Errorf("placing the mended order: created %v, error %v", created, err)
	}
}

func paged(t *testing.T, s httpapi.Store) {
	t.Helper()
	draft := draftOf(t, s)
	var want []shop.Order
	for i := range 5 {
		order, _, err := s.PlaceOrder(t.Context(), fmt.Sprintf("key-%05d", i), draft)
		if err != nil {
			t.Fatal(err)
		}
		want = append([]shop.Order{order}, want...)
	}
	var got []shop.Order
	var sizes []int
	for page := (shop.Page{Limit: 2}); ; page.Before = got[len(got)-1].ID {
		orders, err := s.Orders(t.Context(), page)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(orders))
		if len(orders) == 0 || len(sizes) > 4 {
			break
		}
		got = append(got, orders...)
	}
	expect(t, sizes, []int{2, 2, 1, 0})
	expect(t, got, want)
}

func noNotes(t *testing.T, s httpapi.Store) {
	t.Helper()
	draft := draftOf(t, s)
	draft.Note = "not yet"
	order, created, err := s.PlaceOrder(t.Context(), "key-00001", draft)
	if err != nil || !created {
		t.Fatalf("placing: created %v, error %v", created, err)
	}
	expect(t, order.Note, "")
	read, err := s.Order(t.Context(), order.ID)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, read, order)
}

// testManyCustomers places a hundred orders at once with forty keys.
func testManyCustomers(t *testing.T, s httpapi.Store) {
	t.Helper()
	const calls, keys = 100, 40
	draft := draftOf(t, s)
	type result struct {
		key, id string
		created bool
		err     error
	}
	results := make(chan result, calls)
	for i := range calls {
		go func() {
			key := fmt.Sprintf("key-%05d", i%keys)
			order, created, err := s.PlaceOrder(t.Context(), key, draft)
			results <- result{key, order.ID, created, err}
		}()
	}
	ids, created := map[string]string{}, 0
	for range calls {
		r := <-results
		if r.err != nil {
			t.Fatalf("placing %s: %v", r.key, r.err)
		}
		if r.created {
			created++
		}
		if id, ok := ids[r.key]; ok && id != r.id {
			t.Errorf("%s is two orders: %s and %s", r.key, id, r.id)
		}
		ids[r.key] = r.id
	}
	expect(t, created, keys)
	orders := all(t, s)
	expect(t, len(orders), keys)
	for _, o := range orders {
		expect(t, len(o.Lines), 1)
	}
}

func givenUp(t *testing.T, s httpapi.Store) {
	t.Helper()
	draft := draftOf(t, s)
	if _, isMemory := s.(*Memory); isMemory {
		t.Skip("memory does not wait for anything")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.PlaceOrder(ctx, "key-00001", draft); !errors.Is(err, shop.ErrUnavailable) {
		t.Errorf("placing: %v, want %v", err, shop.ErrUnavailable)
	}
	if err := s.Ready(ctx); !errors.Is(err, shop.ErrUnavailable) {
		t.Errorf("ready: %v, want %v", err, shop.ErrUnavailable)
	}
	expect(t, len(all(t, s)), 0)
}

func assortment(t *testing.T, s httpapi.Store) []shop.Product {
	t.Helper()
	products, err := s.Products(t.Context())
	if err != nil {
		t.Fatalf("reading products: %v", err)
	}
	if len(products) < 2 {
		t.Fatalf("%d products, want two at least", len(products))
	}
	return products
}

func draftOf(t *testing.T, s httpapi.Store) shop.Draft {
	t.Helper()
	return shop.Draft{Customer: "Ada", Items: []shop.Item{{ProductID: assortment(t, s)[0].ID, Quantity: 2}}}
}

func all(t *testing.T, s httpapi.Store) []shop.Order {
	t.Helper()
	orders, err := s.Orders(t.Context(), shop.Page{Limit: 100})
	if err != nil {
		t.Fatalf("reading orders: %v", err)
	}
	return orders
}

func expect[T any](t *testing.T, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
