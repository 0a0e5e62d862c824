package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/shopfleet/shopfleet/e2e/shop"
	"github.com/shopfleet/shopfleet/e2e/shop/httpapi"
	"github.com/shopfleet/shopfleet/e2e/shop/serve"
)

const (
	// DefaultTry is how long one request to the backend may take; a page makes
	// two at most, and a pause between.
	DefaultTry = 6 * time.Second
	retryPause = 250 * time.Millisecond
	maxAnswer  = 1 << 20
	// maxIdle is shorter than the backend keeps a connection.
	maxIdle = 30 * time.Second
)

// errAway means that the backend gave no response, or a temporary error.
var errAway = errors.New("backend unavailable")

// Backend talks to the API of the shop.
type Backend struct {
	base   string
	client *http.Client
	tries  *prometheus.CounterVec
}

// NewBackend returns a client of the API at a URL such as http://shop-backend,
// each of whose tries may take so long. An empty URL is a backend that is always
// away. It registers metrics: call it once for each registry.
func NewBackend(base string, try time.Duration, registry *prometheus.Registry) (*Backend, error) {
	if base != "" {
		u, err := url.Parse(base)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fmt.Errorf("BACKEND_URL is not the URL of a backend: %q", base)
		}
		base = u.Scheme + "://" + u.Host
	}
	tries := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "shop_backend_tries_total", Help: "Requests to the backend, by whether it answered.",
	}, []string{"result"})
	registry.MustRegister(tries)
	return &Backend{base: base, tries: tries, client: &http.Client{
		Timeout:       try,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 16, IdleConnTimeout: maxIdle},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Products returns all products.
func (b *Backend) Products(ctx context.Context) ([]shop.Product, error) {
	var body struct {
		Products []shop.Product `json:"products"`
	}
	err := b.call(ctx, request{method: http.MethodGet, path: "/api/products"}, &body)
	return body.Products, err
}

// Place hands in an order. Calling it again with the same key is safe.
func (b *Backend) Place(ctx context.Context, key string, d shop.Draft) (shop.Order, error) {
	body, err := json.Marshal(d)
	if err != nil {
		return shop.Order{}, fmt.Errorf("encoding an order: %w", err)
	}
	var order shop.Order
	err = b.call(ctx, request{method: http.MethodPost, path: "/api/orders", key: key, body: body}, &order)
	return order, err
}

// Order returns one order, or shop.ErrNotFound.
func (b *Backend) Order(ctx context.Context, id string) (shop.Order, error) {
	var order shop.Order
	err := b.call(ctx, request{method: http.MethodGet, path: "/api/orders/" + url.PathEscape(id)}, &order)
	return order, err
}

// Orders returns a page of orders, newest first.
func (b *Backend) Orders(ctx context.Context, page shop.Page) (httpapi.OrderList, error) {
	query := url.Values{"limit": {strconv.Itoa(page.Limit)}}
	if page.Before != "" {
		query.Set("before", page.Before)
	}
	var list httpapi.OrderList
	err := b.call(ctx, request{method: http.MethodGet, path: "/api/orders?" + query.Encode()}, &list)
	return list, err
}

// Ready fails unless the backend is ready.
func (b *Backend) Ready(ctx context.Context) error {
	return b.try(ctx, request{method: http.MethodGet, path: "/readyz"}, nil)
}

type request struct {
	method, path, key string
	body              []byte
}

// call tries twice: every request is safe to repeat, orders by their key.
func (b *Backend) call(ctx context.Context, r request, into any) error {
	err := b.try(ctx, r, into)
	if !errors.Is(err, errAway) || b.base == "" {
		return err
	}
	timer := time.NewTimer(retryPause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return err
	case <-timer.C:
		return b.try(ctx, r, into)
	}
}

func (b *Backend) try(ctx context.Context, r request, into any) error {
	if b.base == "" {
		return fmt.Errorf("%w: BACKEND_URL is not set", errAway)
	}
	err := b.send(ctx, r, into)
	result := "answered"
	if errors.Is(err, errAway) {
		result = "failed"
	}
	b.tries.WithLabelValues(result).Inc()
	return err
}

func (b *Backend) send(ctx context.Context, r request, into any) error {
	q, err := http.NewRequestWithContext(ctx, r.method, b.base+r.path, bytes.NewReader(r.body))
	if err != nil {
		return fmt.Errorf("making a request: %w", err)
	}
	if r.key != "" {
		q.Header.Set(shop.KeyHeader, r.key)
		q.Header.Set("Content-Type", "application/json")
	}
	if id := serve.RequestID(ctx); id != "" {
		q.Header.Set(serve.RequestHeader, id)
	}
	answer, err := b.client.Do(q)
	if err != nil {
		return fmt.Errorf("%w: %w", errAway, err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("%w: reading the answer: %w", errAway, err)
	}
	if answer.StatusCode < http.StatusMultipleChoices {
		if into == nil {
			return nil
		}
		if err := json.Unmarshal(body, into); err != nil {
			return fmt.Errorf("reading the answer of the backend: %w", err)
		}
		return nil
	}
	return failure(answer.StatusCode, body)
}

// failure converts an error response.
func failure(code int, body []byte) error {
	var f httpapi.Failure
	_ = json.Unmarshal(body, &f) // A proxy's page is no JSON.
	switch code {
	case http.StatusNotFound:
		return shop.ErrNotFound
	case http.StatusConflict:
		return shop.ErrKeyReused
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		if len(f.Problems) == 0 {
			f.Problems = []shop.Problem{{Field: "order", Message: f.Error}}
		}
		return &shop.InvalidError{Problems: f.Problems}
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return fmt.Errorf("%w: code %d", errAway, code)
	}
	return fmt.Errorf("backend answered with code %d: %s", code, f.Error)
}
