package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/shopfleet/shopfleet/e2e/shop"
	"github.com/shopfleet/shopfleet/e2e/shop/serve"
)

const (
	maxBody      = 16 << 10
	defaultLimit = 20
	maxLimit     = 100
	retryAfter   = "2"
)

// Store keeps the shop's products and orders. Its methods fail with the errors
// of package shop.
type Store interface {
	Products(ctx context.Context) ([]shop.Product, error)
	// PlaceOrder returns false with the order of an earlier call with the key.
	PlaceOrder(ctx context.Context, key string, d shop.Draft) (shop.Order, bool, error)
	Order(ctx context.Context, id string) (shop.Order, error)
	Orders(ctx context.Context, page shop.Page) ([]shop.Order, error)
	Ready(ctx context.Context) error
}

// Failure is the body of every error response.
type Failure struct {
	Error    string         `json:"error"`
	Problems []shop.Problem `json:"problems,omitempty"`
	// RequestID finds the request in the logs.
	RequestID string `json:"requestId,omitempty"`
}

// OrderList is the body of GET /api/orders.
type OrderList struct {
	Orders []shop.Order `json:"orders"`
	// Next holds the value of ?before= for the next page; it is empty on the last page.
	Next string `json:"next,omitempty"`
}

type handler struct {
	store  Store
	log    *slog.Logger
	orders *prometheus.CounterVec
}

// New returns the handler of everything below /api/. It registers metrics: call
// it once for each registry.
func New(store Store, log *slog.Logger, registry *prometheus.Registry) http.Handler {
	h := &handler{store: store, log: log, orders: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "shop_orders_total", Help: "Orders handed in, by what became of them.",
	}, []string{"result"})}
	registry.MustRegister(h.orders)
	for _, result := range []string{"created", "replayed", "failed"} {
		h.orders.WithLabelValues(result)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/products", h.products)
	mux.HandleFunc("GET /api/orders", h.list)
	mux.HandleFunc("POST /api/orders", h.place)
	mux.HandleFunc("GET /api/orders/{id}", h.get)
	mux.HandleFunc("/api/products", notAllowed("GET, HEAD"))
	mux.HandleFunc("/api/orders", notAllowed("GET, HEAD, POST"))
	mux.HandleFunc("/api/orders/{id}", notAllowed("GET, HEAD"))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		write(w, http.StatusNotFound, Failure{Error: "no such page", RequestID: serve.RequestID(r.Context())})
	})
	return mux
}

func (h *handler) products(w http.ResponseWriter, r *http.Request) {
	products, err := h.store.Products(r.Context())
	if err != nil {
		h.fail(w, r, err)
		return
	}
	write(w, http.StatusOK, map[string][]shop.Product{"products": products})
}

func (h *handler) place(w http.ResponseWriter, r *http.Request) {
	order, created, err := h.placeOrder(w, r)
	switch {
	case err != nil:
		h.orders.WithLabelValues("failed").Inc()
		h.fail(w, r, err)
	case created:
		h.orders.WithLabelValues("created").Inc()
		w.Header().Set("Location", "/api/orders/"+order.ID)
		write(w, http.StatusCreated, order)
	default:
		h.orders.WithLabelValues("replayed").Inc()
		w.Header().Set(shop.ReplayHeader, "true")
		write(w, http.StatusOK, order)
	}
}

func (h *handler) placeOrder(w http.ResponseWriter, r *http.Request) (shop.Order, bool, error) {
	key := r.Header.Get(shop.KeyHeader)
	if err := shop.CheckKey(key); err != nil {
		return shop.Order{}, false, &requestError{http.StatusBadRequest, err}
	}
	var d shop.Draft
	if err := decode(w, r, &d); err != nil {
		return shop.Order{}, false, err
	}
	d = d.Clean()
	if err := d.Check(); err != nil {
		return shop.Order{}, false, err
	}
	return h.store.PlaceOrder(r.Context(), key, d)
}

func (h *handler) get(w http.ResponseWriter, r *http.Request) {
	order, err := h.store.Order(r.Context(), r.PathValue("id"))
	if err != nil {
		h.fail(w, r, err)
		return
	}
	write(w, http.StatusOK, order)
}

func (h *handler) list(w http.ResponseWriter, r *http.Request) {
	page := shop.Page{Before: r.URL.Query().Get("before"), Limit: defaultLimit}
	if text := r.URL.Query().Get("limit"); text != "" {
		limit, err := strconv.Atoi(text)
		if err != nil || limit < 1 || limit > maxLimit {
			h.fail(w, r, &requestError{http.StatusBadRequest, fmt.Errorf("limit must be between 1 and %d", maxLimit)})
			return
		}
		page.Limit = limit
	}
	if len(page.Before) > 32 {
		h.fail(w, r, &requestError{http.StatusBadRequest, errors.New("before is not the id of an order")})
		return
	}
	orders, err := h.store.Orders(r.Context(), page)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	list := OrderList{Orders: append([]shop.Order{}, orders...)}
	if len(orders) == page.Limit {
		list.Next = orders[len(orders)-1].ID
	}
	write(w, http.StatusOK, list)
}

// requestError is an error that is the client's, with its code.
type requestError struct {
	code  int
	cause error
}

// Error returns the message of the cause.
func (e *requestError) Error() string { return e.cause.Error() }

// Unwrap returns the cause.
func (e *requestError) Unwrap() error { return e.cause }

// decode reads one JSON value. Unknown fields are ignored: newer clients may send them.
func decode(w http.ResponseWriter, r *http.Request, into any) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return &requestError{http.StatusUnsupportedMediaType, errors.New("content type must be application/json")}
	}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	err := decoder.Decode(into)
	if err == nil && !errors.Is(decoder.Decode(&struct{}{}), io.EOF) {
		err = errors.New("more than one value")
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &requestError{http.StatusRequestEntityTooLarge, fmt.Errorf("body is larger than %d bytes", maxBody)}
	}
	if err != nil {
		return &requestError{http.StatusBadRequest, fmt.Errorf("body is not the JSON of an order: %w", err)}
	}
	return nil
}

// fail sends an error: in full for a client error, in general terms for a server error,
// whose details are logged.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	body := Failure{Error: err.Error(), RequestID: serve.RequestID(r.Context())}
	code := http.StatusInternalServerError
	invalid, isInvalid := errors.AsType[*shop.InvalidError](err)
	if isInvalid {
		code, body.Error, body.Problems = http.StatusUnprocessableEntity, "invalid request", invalid.Problems
	}
	if e, ok := errors.AsType[*requestError](err); ok {
		code = e.code
	}
	switch {
	case errors.Is(err, shop.ErrNotFound):
		code, body.Error = http.StatusNotFound, "no such order"
	case errors.Is(err, shop.ErrKeyReused):
		code, body.Error = http.StatusConflict, shop.ErrKeyReused.Error()
	case errors.Is(err, shop.ErrUnavailable):
		code, body.Error = http.StatusServiceUnavailable, "the shop cannot reach its database, try again"
		w.Header().Set("Retry-After", retryAfter)
	case code == http.StatusInternalServerError:
		body.Error = "internal error"
	}
	if code >= http.StatusInternalServerError {
		h.log.ErrorContext(r.Context(), "request failed", "request_id", body.RequestID, "error", err.Error())
	}
	write(w, code, body)
}

func notAllowed(allowed string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allowed)
		write(w, http.StatusMethodNotAllowed, Failure{
			Error: "method not allowed, want one of " + allowed, RequestID: serve.RequestID(r.Context()),
		})
	}
}

func write(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // The client is gone.
}
