package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/shopfleet/shopfleet/e2e/shop"
)

// Memory is a store in memory, for tests. It fulfils the contract as long as the process
// runs.
type Memory struct {
	release shop.Release
	now     func() time.Time

	mu     sync.Mutex
	err    error
	keys   map[string]string // The drafts' fingerprints.
	placed map[string]string // The orders' ids.
	orders []shop.Order
}

// NewMemory returns a store with two products, beans and kettle.
func NewMemory(release shop.Release, now func() time.Time) *Memory {
	return &Memory{release: release, now: now, keys: map[string]string{}, placed: map[string]string{}}
}

// Fail makes every call fail with an error; nil ends that.
func (m *Memory) Fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

func (m *Memory) enter() error {
	m.mu.Lock()
	if m.err != nil {
		m.mu.Unlock()
		return m.err
	}
	return nil
}

// Ready fails after Fail.
func (m *Memory) Ready(context.Context) error {
	if err := m.enter(); err != nil {
		return err
	}
	m.mu.Unlock()
	return nil
}

// Products returns two products.
func (m *Memory) Products(context.Context) ([]shop.Product, error) {
	if err := m.enter(); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	return []shop.Product{
		{ID: "beans", Name: "Beans", Description: "Coffee.", PriceCents: 1250},
		{ID: "kettle", Name: "Kettle", Description: "Pours.", PriceCents: 11900},
	}, nil
}

// PlaceOrder keeps an order, once for each key.
func (m *Memory) PlaceOrder(ctx context.Context, key string, d shop.Draft) (shop.Order, bool, error) {
	products, err := m.Products(ctx)
	if err != nil {
		return shop.Order{}, false, err
	}
	if err := m.enter(); err != nil {
		return shop.Order{}, false, err
	}
	defer m.mu.Unlock()
	if fingerprint, ok := m.keys[key]; ok {
		if fingerprint != d.Fingerprint() {
			return shop.Order{}, false, shop.ErrKeyReused
		}
		order, err := m.find(m.placed[key])
		return order, false, err
	}
	order := shop.Order{
		ID: fmt.Sprintf("%032x", len(m.orders)+1), Customer: d.Customer, PlacedAt: m.now().UTC().Truncate(time.Millisecond),
	}
	if m.release.GiftNotes {
		order.Note = d.Note
	}
	for _, item := range d.Items {
		at := slices.IndexFunc(products, func(p shop.Product) bool { return p.ID == item.ProductID })
		if at < 0 {
			return shop.Order{}, false, shop.UnknownProduct(item.ProductID)
		}
		p := products[at]
		order.Lines = append(order.Lines, shop.Line{
			ProductID: p.ID, Name: p.Name, Quantity: item.Quantity, PriceCents: p.PriceCents,
		})
		order.TotalCents += int64(item.Quantity) * p.PriceCents
	}
	m.orders = append(m.orders, order)
	m.keys[key], m.placed[key] = d.Fingerprint(), order.ID
	return order, true, nil
}

// Order returns one order, or shop.ErrNotFound.
func (m *Memory) Order(_ context.Context, id string) (shop.Order, error) {
	if err := m.enter(); err != nil {
		return shop.Order{}, err
	}
	defer m.mu.Unlock()
	return m.find(id)
}

// Orders returns a page of orders, newest first.
func (m *Memory) Orders(_ context.Context, page shop.Page) ([]shop.Order, error) {
	if err := m.enter(); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	var orders []shop.Order
	for _, o := range slices.Backward(m.orders) {
		if (page.Before == "" || o.ID < page.Before) && len(orders) < page.Limit {
			orders = append(orders, o)
		}
	}
	return orders, nil
}

func (m *Memory) find(id string) (shop.Order, error) {
	at := slices.IndexFunc(m.orders, func(o shop.Order) bool { return o.ID == id })
	if at < 0 {
		return shop.Order{}, shop.ErrNotFound
	}
	return m.orders[at], nil
}
