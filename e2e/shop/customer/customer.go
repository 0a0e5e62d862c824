package customer

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/shopfleet/shopfleet/e2e/shop/database"
)

// maxPage is how much of a page is read.
const maxPage = 1 << 20

// Options describe the customers. All but Orders and Pause are required.
type Options struct {
	// URL holds the address of the shop's pages.
	URL string
	// Client sends the requests. It does not follow redirects.
	Client *http.Client
	// Customers order at the same time, each Orders times, or until the context
	// ends if that is 0. Pause is their rest between orders.
	Customers, Orders int
	Pause             time.Duration
	// Output gets a line of JSON for each order, and a summary.
	Output io.Writer
}

// Outcome represents the result of one order. Either Order or Error is set.
type Outcome struct {
	Time  time.Time `json:"time"`
	Order string    `json:"order,omitempty"`
	Error string    `json:"error,omitempty"`
}

// Summary is the last line of the output.
type Summary struct {
	Placed int `json:"placed"`
	Failed int `json:"failed"`
}

// Run returns when all customers have ended. The error means that the output could not be
// written.
func Run(ctx context.Context, o Options) error {
	client := *o.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	o.Client = &client
	c := &customers{options: o, encoder: json.NewEncoder(o.Output)}
	var group sync.WaitGroup
	for range o.Customers {
		group.Go(func() { c.shop(ctx) })
	}
	group.Wait()
	return errors.Join(c.failed, c.encoder.Encode(c.summary))
}

type customers struct {
	options Options

	mu      sync.Mutex
	encoder *json.Encoder
	summary Summary
	failed  error
}

// shop plays one customer's day.
func (c *customers) shop(ctx context.Context) {
	for n := 0; ctx.Err() == nil && (c.options.Orders == 0 || n < c.options.Orders); n++ {
		// An order that was begun is finished: its client's timeout bounds it.
		id, err := c.order(context.WithoutCancel(ctx))
		c.print(id, err)
		database.Pause(ctx, c.options.Pause)
	}
}

func (c *customers) print(id string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	outcome := Outcome{Time: time.Now().UTC(), Order: id}
	if err != nil {
		outcome.Error = err.Error()
		c.summary.Failed++
	} else {
		c.summary.Placed++
	}
	c.failed = errors.Join(c.failed, c.encoder.Encode(outcome))
}

// order opens the form, sends it and reads the confirmation.
func (c *customers) order(ctx context.Context) (string, error) {
	if _, err := c.visit(ctx, "/order", nil, http.StatusOK); err != nil {
		return "", err
	}
	form := url.Values{"customer": {"Ada"}, "key": {rand.Text()}, "quantity-filters": {strconv.Itoa(1)}}
	location, err := c.visit(ctx, "/orders", form, http.StatusSeeOther)
	if err != nil {
		return "", err
	}
	id := path.Base(location)
	if _, err := c.visit(ctx, "/orders/"+id, nil, http.StatusOK); err != nil {
		return "", err
	}
	return id, nil
}

// visit gets a page or, with a form, sends it, and returns the URL that it ends at.
func (c *customers) visit(ctx context.Context, page string, form url.Values, want int) (string, error) {
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.options.URL, "/")+page, strings.NewReader(form.Encode()))
	if err != nil {
		return "", fmt.Errorf("making a request: %w", err)
	}
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := c.options.Client.Do(request)
	if err != nil {
		return "", fmt.Errorf("visiting: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.Copy(io.Discard, io.LimitReader(answer.Body, maxPage)); err != nil {
		return "", fmt.Errorf("reading %s: %w", page, err)
	}
	if answer.StatusCode != want {
		return "", fmt.Errorf("%s %s: code %d, want %d", method, page, answer.StatusCode, want)
	}
	return answer.Header.Get("Location"), nil
}
