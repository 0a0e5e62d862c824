package web

import (
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"strings"

	"github.com/shopfleet/shopfleet/e2e/shop"
	"github.com/shopfleet/shopfleet/e2e/shop/serve"
)

const (
	maxForm  = 16 << 10
	pageSize = 20
	// quantityPrefix begins the names of the form's fields for products.
	quantityPrefix = "quantity-"
)

//go:embed templates
var templates embed.FS

// Options describe a frontend. Region may be empty.
type Options struct {
	Backend *Backend
	Release shop.Release
	// Region is the region of this shop, as customers see it.
	Region string
	Log    *slog.Logger
}

type handler struct {
	Options

	pages map[string]*template.Template
	// policy lets browsers use the style of the layout and nothing else.
	policy string
}

// New returns the handler of the shop's pages.
func New(o Options) (http.Handler, error) {
	text, err := templates.ReadFile("templates/layout.html")
	if err != nil {
		return nil, fmt.Errorf("reading the layout: %w", err)
	}
	_, style, _ := strings.Cut(string(text), "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	sum := sha256.Sum256([]byte(style))
	h := &handler{
		Options: o,
		pages:   map[string]*template.Template{},
		policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
	}
	for _, name := range []string{"products", "form", "order", "orders", "failure"} {
		page := template.New("layout.html").Funcs(template.FuncMap{"money": money, "times": times})
		if page, err = page.ParseFS(templates, "templates/layout.html", "templates/"+name+".html"); err != nil {
			return nil, fmt.Errorf("parsing page %q: %w", name, err)
		}
		h.pages[name] = page
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", h.products)
	mux.HandleFunc("GET /order", h.form)
	mux.HandleFunc("GET /orders", h.list)
	mux.HandleFunc("POST /orders", h.place)
	mux.HandleFunc("GET /orders/{id}", h.order)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		h.fail(w, r, shop.ErrNotFound, nil)
	})
	// Browsers say where a form was sent from; other sites' are refused.
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.show(w, r, http.StatusForbidden, "failure", failed{
			Title: "This order came from another site", Text: "Orders are taken on the pages of this shop only.",
		})
	}))
	return h.secure(protection.Handler(mux)), nil
}

func (h *handler) secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", h.policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		header.Set("Referrer-Policy", "same-origin")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		header.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

func (h *handler) products(w http.ResponseWriter, r *http.Request) {
	products, err := h.Backend.Products(r.Context())
	if err != nil {
		h.fail(w, r, err, nil)
		return
	}
	h.show(w, r, http.StatusOK, "products", products)
}

func (h *handler) form(w http.ResponseWriter, r *http.Request) {
	d := shop.Draft{}
	if id := r.URL.Query().Get("product"); id != "" {
		d.Items = []shop.Item{{ProductID: id, Quantity: 1}}
	}
	h.showForm(w, r, http.StatusOK, formPage{Key: rand.Text(), Draft: d})
}

// formPage is the order form, filled in. Key is the order's, whatever number of
// times the form is sent.
type formPage struct {
	Key      string
	Draft    shop.Draft
	Products []productField
	Problems []shop.Problem
}

type productField struct {
	shop.Product

	Field    string
	Quantity int
}

func (h *handler) showForm(w http.ResponseWriter, r *http.Request, code int, page formPage) {
	products, err := h.Backend.Products(r.Context())
	if err != nil {
		h.fail(w, r, err, nil)
		return
	}
	for _, p := range products {
		field := productField{Product: p, Field: quantityPrefix + p.ID}
		for _, item := range page.Draft.Items {
			if item.ProductID == p.ID {
				field.Quantity = item.Quantity
			}
		}
		page.Products = append(page.Products, field)
	}
	h.show(w, r, code, "form", page)
}

func (h *handler) place(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		h.show(w, r, http.StatusBadRequest, "failure", failed{
			Title: "This order could not be read", Text: "Please fill in the order form again.",
		})
		return
	}
	key := r.PostForm.Get("key")
	d, err := h.draft(r)
	if err == nil {
		err = errors.Join(shop.CheckKey(key), d.Check())
	}
	var order shop.Order
	if err == nil {
		order, err = h.Backend.Place(r.Context(), key, d)
	}
	if invalid, ok := errors.AsType[*shop.InvalidError](err); ok {
		if shop.CheckKey(key) != nil {
			key = rand.Text()
		}
		h.showForm(w, r, http.StatusUnprocessableEntity, formPage{Key: key, Draft: d, Problems: invalid.Problems})
		return
	}
	if err != nil {
		h.fail(w, r, err, r.PostForm)
		return
	}
	http.Redirect(w, r, "/orders/"+order.ID, http.StatusSeeOther)
}

func (h *handler) order(w http.ResponseWriter, r *http.Request) {
	order, err := h.Backend.Order(r.Context(), r.PathValue("id"))
	if err != nil {
		h.fail(w, r, err, nil)
		return
	}
	h.show(w, r, http.StatusOK, "order", order)
}

func (h *handler) list(w http.ResponseWriter, r *http.Request) {
	page := shop.Page{Before: r.URL.Query().Get("before"), Limit: pageSize}
	list, err := h.Backend.Orders(r.Context(), page)
	if err != nil {
		h.fail(w, r, err, nil)
		return
	}
	h.show(w, r, http.StatusOK, "orders", list)
}

// logFailure logs an error of the shop itself.
func (h *handler) logFailure(r *http.Request, err error) {
	h.Log.ErrorContext(r.Context(), "page failed", "request_id", serve.RequestID(r.Context()), "error", err.Error())
}
