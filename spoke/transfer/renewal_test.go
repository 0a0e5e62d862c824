package transfer

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

// renewed returns an Order as the hub renews it: with other requests, which expire later.
func renewed(o order.Order, life time.Duration, changes ...func(*order.Order)) order.Order {
	o.ExpiresAt, o.Parts = o.ExpiresAt.Add(life), slices.Clone(o.Parts)
	for _, change := range changes {
		change(&o)
	}
	return o
}

// TestRenewal checks that each request is one of the newest Order, and that an expired Order is waited for.
func TestRenewal(t *testing.T) {
	t.Parallel()
	refused := func(o *order.Order) {
		for i := range o.Parts {
			other := *o.Parts[i].Request
			other.URL = strings.ReplaceAll(other.URL, token, "old")
			o.Parts[i].Request = &other
		}
	}
	cases := map[string]struct {
		change func(m *move)
		// orders are read one after the other, the last of them for good.
		orders func(m *move) []order.Order
		status int
		want   string
		pauses []time.Duration
		asked  int
	}{
		"not yet": {func(*move) {}, func(m *move) []order.Order { return []order.Order{m.order} }, order.ExitDone, "", nil, 4},
		"before it begins": {func(*move) {}, func(m *move) []order.Order {
			good := m.order
			m.order = renewed(good, -time.Minute, refused)
			return []order.Order{good}
		}, order.ExitDone, "", nil, 4},
		"once it has expired": {func(m *move) { m.order.ExpiresAt = m.clock.Now() }, func(m *move) []order.Order {
			return []order.Order{m.order, m.order, renewed(m.order, time.Hour)}
		}, order.ExitDone, "", []time.Duration{renewalPause, renewalPause}, 4},
		"by a clock that is wrong": {func(m *move) { m.order.ExpiresAt = m.clock.Now().Add(-2 * time.Hour) }, func(m *move) []order.Order {
			return []order.Order{m.order, renewed(m.order, time.Hour)}
		}, order.ExitRefused, "part 1 of 4: the requests: expired", []time.Duration{renewalPause}, 0},
		"while a part arrived": {func(*move) {}, func(m *move) []order.Order {
			return []order.Order{m.order, renewed(m.order, time.Hour, func(o *order.Order) { o.Parts[1].Request, o.Parts[2].Request = nil, nil })}
		}, order.ExitDone, "", nil, 2},
		"for another file": {func(*move) {}, func(m *move) []order.Order {
			return []order.Order{m.order, renewed(m.order, time.Hour, func(o *order.Order) { o.SHA256 = strings.Repeat("0", 64) })}
		}, order.ExitFinal, "the renewed order: differs from the order", nil, 1},
		"in other parts": {func(*move) {}, func(m *move) []order.Order {
			return []order.Order{renewed(m.order, time.Hour, func(o *order.Order) { o.Parts[0].Bytes, o.Parts[1].Bytes = 5, 3 })}
		}, order.ExitFinal, "the renewed order: differs from the order", nil, 0},
	}
	for what, c := range cases {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := newBucket(t)
			m := newMove(t, order.Send, b.URL)
			m.file(t, shop)
			c.change(m)
			m.orders = c.orders(m)
			m.run(t, c.status, c.want)
			if diff := cmp.Diff(c.pauses, m.clock.pauses); diff != "" || len(b.asked) != c.asked {
				t.Errorf("%d requests, want %d; pauses (-want +got):\n%s", len(b.asked), c.asked, diff)
			}
		})
	}
}

// TestExpiresAndIsRenewed checks that a request is cut off when it expires, and sent again from the next Order.
func TestExpiresAndIsRenewed(t *testing.T) {
	t.Parallel()
	b := newBucket(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // The server notices the end of a connection only after that.
		<-r.Context().Done()
	})
	m := newMove(t, order.Send, b.URL)
	m.file(t, shop)
	m.order.ExpiresAt = m.clock.Now().Add(time.Second)
	m.orders = []order.Order{m.order, renewed(m.order, time.Hour)}
	m.run(t, order.ExitDone, "")
	if !strings.Contains(m.said.String(), "part 1 of 4: the requests: expired: retrying in 1s") {
		t.Errorf("it said %q", m.said.String())
	}
	b.expect(t, stored())
}

// TestProcessReadsAgain checks that a process reads the Order again that it was started with.
func TestProcessReadsAgain(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	m := newMove(t, order.Send, b.URL)
	m.file(t, shop)
	p := Process{Order: m.dir + "/" + order.FileName, Dir: m.dir, Out: &bytes.Buffer{}}
	text, err := renewed(m.order, time.Hour).Write()
	if err != nil {
		t.Fatal(err)
	}
	b.answers = []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) {
		if err := os.WriteFile(p.Order, text, 0o600); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusInternalServerError)
	}}
	m.order.ExpiresAt = m.clock.Now().Add(900 * time.Millisecond) // Expired after the first pause.
	first, err := m.order.Write()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.Order, first, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Main(t.Context(), p); err != nil {
		t.Error(err)
	}
	b.expect(t, stored())
}
