package shop_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/e2e/shop/database"
	"github.com/shopfleet/shopfleet/e2e/shop/dbtest"
)

const (
	patience      = time.Minute
	customerCount = 3
)

// program is a running process of the shop.
type program struct {
	name    string
	process *dbtest.Process
	port    int
}

func goBuild(t *testing.T, output, command, version string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-X main.version="+version,
		"-o", output, "./cmd/"+command)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", command, err, text)
	}
}

func (p *program) address() string { return fmt.Sprintf("127.0.0.1:%d", p.port) }

// until waits for a condition while the program runs.
func (p *program) until(t *testing.T, what string, met func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !met() {
		if p.process.Ended() || !database.Pause(ctx, 20*time.Millisecond) {
			t.Fatalf("%s: waiting until %s:\n%s", p.name, what, p.process.Output())
		}
	}
}

// open waits as the operator's probes do.
func (p *program) open(t *testing.T) {
	t.Helper()
	p.until(t, "its port is open", func() bool {
		var dialer net.Dialer
		conn, err := dialer.DialContext(t.Context(), "tcp", p.address())
		if err != nil {
			return false
		}
		_ = conn.Close()
		return true
	})
}

func (p *program) awaitLog(t *testing.T, text string) {
	t.Helper()
	p.until(t, "it logs "+text, func() bool { return strings.Contains(p.process.Output(), text) })
}

// end stops a program as the kubelet does and wants it to end well.
func (p *program) end(t *testing.T) {
	t.Helper()
	p.process.Signal(syscall.SIGTERM)
	if err := p.process.Wait(t, endWithin); err != nil {
		t.Errorf("%s ended with %v:\n%s", p.name, err, p.process.Output())
	}
}

func (p *program) page(t *testing.T, path string) string {
	t.Helper()
	body, err := fetch(t.Context(), p, path, nil)
	if err != nil {
		t.Errorf("GET %s: %v", path, err)
	}
	return body
}

// fetch gets a page or, with a form, posts one, and follows where that leads.
func fetch(ctx context.Context, p *program, path string, form url.Values) (string, error) {
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://"+p.address()+path, strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: code %d", method, answer.Request.URL.Path, answer.StatusCode)
	}
	return string(body), err
}

// order opens the form, sends it, and goes on sending it until it is confirmed.
// It returns the order's id.
func order(t *testing.T, p *program) string {
	t.Helper()
	id, err := orderOnce(t.Context(), p, func(err error) { t.Errorf("ordering: %v", err) })
	if err != nil {
		t.Fatalf("ordering: %v", err)
	}
	return id
}

func orderOnce(ctx context.Context, p *program, failed func(error)) (string, error) {
	form := url.Values{"customer": {"Grace"}, "quantity-filters": {"2"}}
	persist := func(path string, form url.Values, pattern string) (string, error) {
		for {
			page, err := fetch(ctx, p, path, form)
			if err == nil {
				if found := regexp.MustCompile(pattern).FindStringSubmatch(page); found != nil {
					return found[1], nil
				}
				return "", fmt.Errorf("no %s on the page:\n%s", pattern, page)
			}
			if ctx.Err() != nil {
				return "", err
			}
			failed(err)
			database.Pause(ctx, 50*time.Millisecond)
		}
	}
	key, err := persist("/order", nil, `name="key" value="([^"]+)"`)
	if err != nil {
		return "", err
	}
	form.Set("key", key)
	return persist("/orders", form, `id="order-id">([0-9a-f]{32})<`)
}

// customers order from a frontend until they leave.
type customers struct {
	leaving atomic.Bool
	cancel  context.CancelFunc
	done    sync.WaitGroup

	mu     sync.Mutex
	orders map[string]bool
	failed []error
	lost   []error
}

func newCustomers(t *testing.T, frontend *program) *customers {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	c := &customers{cancel: cancel, orders: map[string]bool{}}
	for range customerCount {
		c.done.Go(func() {
			for !c.leaving.Load() {
				id, err := orderOnce(ctx, frontend, c.note)
				c.mu.Lock()
				if err != nil {
					c.lost = append(c.lost, err)
					c.mu.Unlock()
					return
				}
				c.orders[id] = true
				c.mu.Unlock()
				database.Pause(ctx, 20*time.Millisecond)
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		c.done.Wait()
	})
	return c
}

func (c *customers) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = append(c.failed, err)
}

// failures returns what customers have seen fail.
func (c *customers) failures() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// goOn waits until there are five more orders than now.
func (c *customers) goOn(t *testing.T) {
	t.Helper()
	count := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.orders)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for want := count() + 5; count() < want; {
		if !database.Pause(ctx, 20*time.Millisecond) {
			t.Fatalf("%d orders, want %d; failures: %v", count(), want, c.failures())
		}
	}
}

// leave lets each customer finish, and returns all orders that were confirmed.
func (c *customers) leave(t *testing.T) map[string]bool {
	t.Helper()
	c.leaving.Store(true)
	c.done.Wait()
	c.cancel()
	for _, err := range c.lost {
		t.Errorf("a customer gave up: %v", err)
	}
	t.Logf("failures that customers saw: %d", len(c.failures()))
	return c.orders
}

// service is the address before the backends. Like a Service it leads each new
// connection to a backend, and leaves the old ones where they are.
type service struct {
	listener net.Listener
	target   atomic.Int64
}

func newService(t *testing.T) *service {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &service{listener: listener}
	t.Cleanup(func() { _ = listener.Close() })
	ctx := t.Context()
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go s.pass(ctx, client)
		}
	}()
	return s
}

func (s *service) address() string { return s.listener.Addr().String() }

func (s *service) switchTo(port int) { s.target.Store(int64(port)) }

// pass copies both ways until either side ends.
func (s *service) pass(ctx context.Context, client net.Conn) {
	defer func() { _ = client.Close() }()
	var dialer net.Dialer
	backend, err := dialer.DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", s.target.Load()))
	if err != nil {
		return
	}
	defer func() { _ = backend.Close() }()
	ended := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{client, backend}, {backend, client}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			ended <- struct{}{}
		}()
	}
	select {
	case <-ended:
	case <-ctx.Done():
	}
}
