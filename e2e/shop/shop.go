package shop

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// KeyHeader carries the idempotency key of an order from the page to the
	// database: two requests with the same key are one order.
	KeyHeader = "Idempotency-Key"
	// ReplayHeader is "true" in the response to a request whose order existed already.
	ReplayHeader = "Idempotency-Replayed"

	// MaxCustomer is in characters.
	MaxCustomer = 80
	// MaxNote is in characters.
	MaxNote = 200
	// MaxQuantity is for each product of an order.
	MaxQuantity = 99

	maxLines = 20
	maxID    = 40
	minKey   = 8
	maxKey   = 64
)

var (
	// ErrNotFound says that there is no such order.
	ErrNotFound = errors.New("not found")
	// ErrKeyReused says that an idempotency key came with another order before.
	ErrKeyReused = errors.New("idempotency key was used for another order")
	// ErrUnavailable means that the database does not respond; the same request may
	// succeed later.
	ErrUnavailable = errors.New("database unavailable")
)

// Product is something to buy.
type Product struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	PriceCents  int64  `json:"priceCents"`
}

// Draft is an order as the customer hands it in.
type Draft struct {
	Customer string `json:"customer"`
	Items    []Item `json:"items"`
	// Note is printed on the gift card. Releases without gift notes drop it.
	Note string `json:"note,omitempty"`
}

// Item is so many of one product.
type Item struct {
	ProductID string `json:"productId"`
	Quantity  int    `json:"quantity"`
}

// Order is a draft that was accepted. Prices are fixed at that moment.
type Order struct {
	ID         string    `json:"id"`
	Customer   string    `json:"customer"`
	Lines      []Line    `json:"lines"`
	TotalCents int64     `json:"totalCents"`
	Note       string    `json:"note,omitempty"`
	PlacedAt   time.Time `json:"placedAt"`
}

// Line is one product of an order.
type Line struct {
	ProductID  string `json:"productId"`
	Name       string `json:"name"`
	Quantity   int    `json:"quantity"`
	PriceCents int64  `json:"priceCents"`
}

// Page bounds a list of orders, newest first.
type Page struct {
	// Before is the id of the last order of the page before; empty: the first page.
	Before string
	// Limit is between 1 and 100.
	Limit int
}

// Problem represents an error in one field of a request.
type Problem struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// InvalidError describes what is wrong with a request, for users.
type InvalidError struct{ Problems []Problem }

// Error joins the problems.
func (e *InvalidError) Error() string {
	texts := make([]string, 0, len(e.Problems))
	for _, p := range e.Problems {
		texts = append(texts, p.Field+": "+p.Message)
	}
	return "invalid: " + strings.Join(texts, "; ")
}

// Clean returns the draft without surrounding space, items in the order of their
// products, and the amounts of the same product added up.
func (d Draft) Clean() Draft {
	d.Customer = strings.TrimSpace(d.Customer)
	d.Note = strings.TrimSpace(d.Note)
	var items []Item
	for _, item := range d.Items {
		at := slices.IndexFunc(items, func(i Item) bool { return i.ProductID == item.ProductID })
		if at < 0 || items[at].Quantity < 1 || item.Quantity < 1 || items[at].Quantity > MaxQuantity {
			items = append(items, item) // Check names what is wrong with it.
			continue
		}
		items[at].Quantity += item.Quantity
	}
	slices.SortStableFunc(items, func(a, b Item) int { return strings.Compare(a.ProductID, b.ProductID) })
	d.Items = items
	return d
}

// Check returns an *InvalidError for a cleaned draft that cannot become an order.
func (d Draft) Check() error {
	var problems []Problem
	add := func(field, format string, args ...any) {
		problems = append(problems, Problem{Field: field, Message: fmt.Sprintf(format, args...)})
	}
	if d.Customer == "" {
		add("customer", "is required")
	}
	if message := checkText(d.Customer, MaxCustomer); message != "" {
		add("customer", "%s", message)
	}
	if message := checkText(d.Note, MaxNote); message != "" {
		add("note", "%s", message)
	}
	if len(d.Items) == 0 {
		add("items", "choose at least one product")
	}
	if len(d.Items) > maxLines {
		add("items", "at most %d different products", maxLines)
	}
	for i, item := range d.Items {
		if item.ProductID == "" || len(item.ProductID) > maxID || checkText(item.ProductID, maxID) != "" {
			add(fmt.Sprintf("items[%d].productId", i), "is not the id of a product")
		}
		if item.Quantity < 1 || item.Quantity > MaxQuantity {
			add(fmt.Sprintf("items[%d].quantity", i), "must be between 1 and %d", MaxQuantity)
		}
	}
	if problems == nil {
		return nil
	}
	return &InvalidError{Problems: problems}
}

func checkText(s string, most int) string {
	switch {
	case !utf8.ValidString(s):
		return "is not valid UTF-8"
	case utf8.RuneCountInString(s) > most:
		return fmt.Sprintf("is longer than %d characters", most)
	case strings.ContainsFunc(s, unicode.IsControl):
		return "contains control characters"
	}
	return ""
}

// Fingerprint distinguishes drafts with the same key. It omits the note: during an update
// one attempt may reach a release that drops it.
func (d Draft) Fingerprint() string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%q", d.Customer)
	for _, item := range d.Items {
		_, _ = fmt.Fprintf(h, "%q %d", item.ProductID, item.Quantity)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// CheckKey returns an *InvalidError unless the key is 8 to 64 letters, digits,
// dashes or underscores.
func CheckKey(key string) error {
	odd := strings.ContainsFunc(key, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
	if odd || len(key) < minKey || len(key) > maxKey {
		return &InvalidError{Problems: []Problem{{
			Field:   KeyHeader,
			Message: fmt.Sprintf("a header of %d to %d letters, digits, - or _ is required", minKey, maxKey),
		}}}
	}
	return nil
}

// UnknownProduct returns the error for an item of a product that the shop does not have.
func UnknownProduct(id string) error {
	return &InvalidError{Problems: []Problem{{Field: "items", Message: fmt.Sprintf("there is no product %q", id)}}}
}
