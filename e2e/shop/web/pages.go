package web

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/shopfleet/shopfleet/e2e/shop"
	"github.com/shopfleet/shopfleet/e2e/shop/serve"
)

// layout holds the data that every page shows, around its own content.
type layout struct {
	Release shop.Release
	Region  string
	Content any
}

// failed holds the values of the page for errors.
type failed struct {
	Title, Text string
	// Again are the fields of a form that may be sent again.
	Again     []formValue
	RequestID string
}

type formValue struct{ Name, Value string }

// show writes a page. It is made whole first, so that no half page goes out.
func (h *handler) show(w http.ResponseWriter, r *http.Request, code int, name string, content any) {
	var page bytes.Buffer
	err := h.pages[name].Execute(&page, layout{Release: h.Release, Region: h.Region, Content: content})
	if err != nil {
		h.logFailure(r, fmt.Errorf("making page %q: %w", name, err))
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = page.WriteTo(w) // The client is gone.
}

// fail shows a page for an error; form is what can be sent again, or nil.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error, form url.Values) {
	page := failed{RequestID: serve.RequestID(r.Context())}
	code := http.StatusInternalServerError
	switch {
	case errors.Is(err, shop.ErrNotFound):
		code, page.Title, page.Text = http.StatusNotFound, "There is nothing here", "This page or order does not exist."
	case errors.Is(err, shop.ErrKeyReused):
		code, page.Title = http.StatusConflict, "This form was sent before"
		page.Text = "It was sent with other contents, and that order stands. Please start a new one."
	case errors.Is(err, errAway):
		code, page.Title = http.StatusServiceUnavailable, "Back in a moment"
		page.Text = "Our stockroom does not answer just now. Please try again in a few seconds."
		w.Header().Set("Retry-After", "2")
		h.logFailure(r, err)
	default:
		page.Title, page.Text = "Something went wrong", "It is our fault, and it is in our logs. Please try again."
		h.logFailure(r, err)
	}
	if form != nil && code >= http.StatusInternalServerError {
		page.Text += " Your order is kept on this page; sending it again places it once only."
		page.Again = formValues(form)
	}
	h.show(w, r, code, "failure", page)
}

func formValues(form url.Values) []formValue {
	values := make([]formValue, 0, len(form))
	for name := range form {
		values = append(values, formValue{Name: name, Value: form.Get(name)})
	}
	slices.SortFunc(values, func(a, b formValue) int { return strings.Compare(a.Name, b.Name) })
	return values
}

// draft reads the order form. The error names quantities that are no numbers.
func (h *handler) draft(r *http.Request) (shop.Draft, error) {
	d := shop.Draft{Customer: r.PostForm.Get("customer")}
	if h.Release.GiftNotes {
		d.Note = r.PostForm.Get("note")
	}
	var problems []shop.Problem
	for _, v := range formValues(r.PostForm) {
		id, isProduct := strings.CutPrefix(v.Name, quantityPrefix)
		text := strings.TrimSpace(v.Value)
		if !isProduct || text == "" || text == "0" {
			continue
		}
		quantity, err := strconv.Atoi(text)
		if err != nil {
			problems = append(problems, shop.Problem{Field: "quantity of " + id, Message: "is not a number"})
			continue
		}
		d.Items = append(d.Items, shop.Item{ProductID: id, Quantity: quantity})
	}
	d = d.Clean()
	if problems != nil {
		return d, &shop.InvalidError{Problems: problems}
	}
	return d, nil
}

func money(cents int64) string { return fmt.Sprintf("€ %d.%02d", cents/100, cents%100) }

func times(quantity int, cents int64) int64 { return int64(quantity) * cents }
