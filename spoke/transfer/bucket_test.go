package transfer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

const (
	name = "backup-20260102T030405Z.dump"
	// token is in every URL and in a header, and must appear nowhere else.
	token = "SIGNATURE"
	// shop is the content of the file.
	shop = "abcdefghijklmn"
)

// bucket is a fake storage that never overwrites an object.
type bucket struct {
	*httptest.Server

	mu      sync.Mutex
	objects map[string]string
	// answers replace the responses of the first requests, one each.
	answers []http.HandlerFunc
	asked   []string
}

func newBucket(t *testing.T, answers ...http.HandlerFunc) *bucket {
	t.Helper()
	b := &bucket{objects: map[string]string{}, answers: answers}
	b.Server = httptest.NewServer(b)
	t.Cleanup(b.Close)
	return b
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := strings.TrimPrefix(r.URL.Path, "/")
	b.asked = append(b.asked, r.Method+" "+key)
	if len(b.answers) > 0 {
		answer := b.answers[0]
		b.answers = b.answers[1:]
		if answer != nil {
			answer(w, r)
			return
		}
	}
	content, there := b.objects[key]
	switch {
	case r.URL.Query().Get("token") != token || r.Header.Get("X-Token") != token:
		w.WriteHeader(http.StatusForbidden)
	case r.Method == http.MethodPut && there:
		w.WriteHeader(http.StatusPreconditionFailed)
	case r.Method == http.MethodPut:
		body, err := io.ReadAll(r.Body)
		if err != nil || int64(len(body)) != r.ContentLength {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		b.objects[key] = string(body)
	case !there:
		w.WriteHeader(http.StatusNotFound)
	default:
		_, _ = io.WriteString(w, content)
	}
}

// status responds with a status and repeats the request in the body, as some providers
// do.
func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "https://elsewhere.example/?token="+token)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body+"<StringToSign>")
		_ = xml.EscapeText(w, []byte(r.URL.String()))
		_, _ = io.WriteString(w, "</StringToSign>")
	}
}

// cut closes the connection within the response.
func cut(t *testing.T, after string) http.HandlerFunc {
	t.Helper()
	return func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		if after != "" {
			_, _ = io.WriteString(connection, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"+after)
		}
		_ = connection.Close()
	}
}

// instant is a clock whose timers fire at once.
type instant struct {
	clock.RealClock
	mu     sync.Mutex
	pauses []time.Duration
}

func (i *instant) NewTimer(d time.Duration) clock.Timer {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.pauses = append(i.pauses, d)
	return i.RealClock.NewTimer(0)
}

// move is a transfer of the four parts of the file.
type move struct {
	dir   string
	order order.Order
	// orders are the Orders that are read again, the last of them for good; without any, none is.
	orders []order.Order
	said   bytes.Buffer
	clock  *instant
}

// reread returns the next Order.
func (m *move) reread() (order.Order, error) {
	o := m.orders[0]
	if len(m.orders) > 1 {
		m.orders = m.orders[1:]
	}
	return o, nil
}

func newMove(t *testing.T, direction order.Direction, url string) *move {
	t.Helper()
	sum, c := sha256.Sum256([]byte(shop)), &instant{}
	m := &move{dir: t.TempDir(), clock: c, order: order.Order{
		Direction: direction, File: name, Bytes: int64(len(shop)), SHA256: hex.EncodeToString(sum[:]),
		ExpiresAt: c.Now().Add(time.Hour),
	}}
	method := map[order.Direction]string{order.Send: http.MethodPut, order.Fetch: http.MethodGet}[direction]
	for i, part := range parts() {
		m.order.Parts = append(m.order.Parts, order.Part{Bytes: int64(len(part)), Request: &order.Request{
			Method: method, URL: url + "/part-" + strconv.Itoa(i) + "?token=" + token, Header: map[string]string{"X-Token": token},
		}})
	}
	return m
}

// parts returns parts of 4 bytes; the last may be shorter.
func parts() []string {
	var all []string
	for part := range slices.Chunk([]byte(shop), 4) {
		all = append(all, string(part))
	}
	return all
}

func (m *move) file(t *testing.T, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run executes the order, and checks the exit status and a part of the message.
func (m *move) run(t *testing.T, wantStatus int, want string) {
	t.Helper()
	o := Options{Order: m.order, Dir: m.dir, Clock: m.clock, Out: &m.said}
	if len(m.orders) > 0 {
		o.Reread = m.reread
	}
	err := Run(t.Context(), o)
	text := ""
	if err != nil {
		text = err.Error()
	}
	if Status(err) != wantStatus || !strings.Contains(text, want) || (want == "") != (err == nil) {
		t.Errorf("it ended with %d, %q; want %d, %q", Status(err), text, wantStatus, want)
	}
	if said := text + m.said.String(); strings.Contains(said, token) || strings.Contains(said, "part-") || strings.Contains(text, "\n") {
		t.Errorf("what it says is not for everybody: %q", said)
	}
}

func (b *bucket) expect(t *testing.T, want map[string]string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if diff := cmp.Diff(want, maps.Clone(b.objects)); diff != "" {
		t.Errorf("bucket (-want +got):\n%s", diff)
	}
}

// stored returns the content of the bucket after a complete upload.
func stored() map[string]string {
	objects := map[string]string{}
	for i, part := range parts() {
		objects["part-"+strconv.Itoa(i)] = part
	}
	return objects
}
