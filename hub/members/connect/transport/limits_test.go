package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
)

const (
	copyPath  = "/apis/ecommerce.io/v1/namespaces/shop/ecommerceapps/a"
	childPath = "/apis/apps/v1/namespaces/shop/deployments/a"
)

func request(ctx context.Context, t *testing.T, method, path string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "https://127.0.0.1"+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestResourceOf(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]resource{
		"/version":                    {},
		"/api/v1":                     {},
		"/apis/apps/v1":               {},
		"/api/v1/nodes":               {name: "nodes"},
		"/api/v1/namespaces/x":        {name: "namespaces", object: "x"},
		"/api/v1/namespaces":          {name: "namespaces"},
		"/api/v1/namespaces/x/pods":   {name: "pods"},
		childPath:                     {group: "apps", name: "deployments", object: "a"},
		copyPath + "/status":          {group: "ecommerce.io", name: "ecommerceapps", object: "a", subresource: "status"},
		"/api/v1/namespaces/x/status": {name: "namespaces", object: "x", subresource: "status"},
	} {
		for _, base := range []string{"", "/k8s/clusters/c-1"} {
			if diff := cmp.Diff(want, resourceOf(base, base+path), cmp.AllowUnexported(resource{})); diff != "" {
				t.Errorf("%s%s (-want +got):\n%s", base, path, diff)
			}
		}
	}
}

// TestLimitsAreSeparate exhausts the limit of one kind of request after the other.
func TestLimitsAreSeparate(t *testing.T) {
	t.Parallel()
	l := newLimiters("", Limits{}.WithDefaults())
	limits := []struct {
		name, method, path string
		limiter            flowcontrol.RateLimiter
		qps                int
	}{
		{"a copy", http.MethodPatch, copyPath, l.copies, DefaultCopies},
		{"a new copy", http.MethodPost, "/apis/ecommerce.io/v1/namespaces/shop/ecommerceapps", l.copies, DefaultCopies},
		{"the status of a copy", http.MethodPatch, copyPath + "/status", l.children, DefaultChildren},
		{"a child", http.MethodPatch, childPath, l.children, DefaultChildren},
		{"a namespace", http.MethodPatch, "/api/v1/namespaces/shop", l.children, DefaultChildren},
		{"a read", http.MethodGet, copyPath, l.reads, DefaultReads},
		{"a watch", http.MethodGet, "/api/v1/pods?watch=true", l.reads, DefaultReads},
	}
	for _, tt := range limits {
		if got := l.of(request(t.Context(), t, tt.method, tt.path)); got != tt.limiter || got.QPS() != float32(tt.qps) {
			t.Errorf("%s: %v per second, want %d, of the same kind", tt.name, got.QPS(), tt.qps)
		}
	}
}

// TestBurst sends the writes of 50 applications with 31 children each, and then as many again:
// the first wait for nothing, the others wait, and a copy and a read wait for none of them.
func TestBurst(t *testing.T) {
	t.Parallel()
	const writes = 50 * 31
	synctest.Test(t, func(t *testing.T) {
		client := newLimiters("", Limits{}.WithDefaults()).wrap(roundTripper(func(*http.Request) (*http.Response, error) { return &http.Response{}, nil }))
		send := func(method, path string) time.Duration {
			began := clock.RealClock{}.Now()
			response, err := client.RoundTrip(request(t.Context(), t, method, path))
			if err != nil {
				t.Fatal(err)
			}
			if response.Body != nil {
				_ = response.Body.Close()
			}
			return clock.RealClock{}.Since(began)
		}
		var first, second time.Duration
		for range writes {
			first += send(http.MethodPatch, childPath)
		}
		for range writes {
			second += send(http.MethodPatch, childPath)
		}
		if first > 0 || second < time.Second {
			t.Errorf("%d writes of children wait %s in all, want 0, and as many more wait %s, want a second or more", writes, first, second)
		}
		if waited := send(http.MethodPatch, copyPath) + send(http.MethodGet, copyPath); waited > 0 {
			t.Errorf("the write and the read of a copy wait %s for writes of children", waited)
		}
	})
}

// TestLimitedRequestsAreNotSent makes writes exceed their limit: what waits is not seen by a fence, and
// a probe does not wait.
func TestLimitedRequestsAreNotSent(t *testing.T) {
	t.Parallel()
	_, config := server(t, func(w http.ResponseWriter, _ *http.Request) { answer(w, "u1") })
	writes := 0
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPost {
				writes++
			}
			return next.RoundTrip(r)
		})
	})
	opened, err := Open(config, Timeouts{Dial: patience, Request: patience, Probe: patience, Watch: patience}, Limits{Copies: 1, Children: 1, Reads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	core, err := corev1client.NewForConfig(opened.LimitedConfig())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	create := func(within time.Duration) error {
		soon, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		_, err := core.Namespaces().Create(soon, &corev1.Namespace{}, metav1.CreateOptions{})
		return err
	}
	for range burst {
		if err := create(patience); err != nil {
			t.Fatal(err)
		}
	}
	allowed := burst
	for err = create(time.Second / 2); err == nil; err = create(time.Second / 2) {
		allowed++ // Writes that take long leave time for others.
	}
	if !apierrors.IsTooManyRequests(err) || writes != allowed {
		t.Errorf("%d writes were sent, want %d, and one more failed with %v", writes, allowed, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := core.Namespaces().Create(ended, &corev1.Namespace{}, metav1.CreateOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled write failed with %v", err)
	}
	for range 2 * burst {
		if _, err := opened.Probe(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// drip is a body that returns one byte each period.
type drip struct {
	ctx    context.Context //nolint:containedctx // It is the one of the request.
	left   int
	period time.Duration
}

// Read returns the next byte.
func (d *drip) Read(p []byte) (int, error) {
	if d.left == 0 {
		return 0, io.EOF
	}
	select {
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	case <-time.After(d.period):
		d.left--
		return copy(p, "x"), nil
	}
}

// TestSlowBodies reads bodies that take longer than the deadline of a request.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	const deadline = 10 * time.Second
	for name, tt := range map[string]struct {
		path   string
		period time.Duration
		want   error
	}{
		"a list":                {"/api/v1/secrets?limit=500", 9 * time.Second, nil},
		"a list in a namespace": {"/apis/apps/v1/namespaces/shop/deployments", 9 * time.Second, nil},
		"a list that stalls":    {"/api/v1/secrets?limit=500", 11 * time.Second, errDeadline},
		"an object":             {childPath, 9 * time.Second, errDeadline},
		"a namespace":           {"/api/v1/namespaces/shop", 9 * time.Second, errDeadline},
		"discovery":             {"/apis/apps/v1", 9 * time.Second, errDeadline},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := &deadlines{server: &url.URL{Host: "127.0.0.1"}, limit: deadline, next: roundTripper(func(r *http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(&drip{r.Context(), 10, tt.period})}, nil
				})}
				response, err := d.RoundTrip(request(t.Context(), t, http.MethodGet, tt.path))
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = response.Body.Close() }()
				got, err := io.ReadAll(response.Body)
				if !errors.Is(err, tt.want) || err == nil && !bytes.Equal(got, []byte("xxxxxxxxxx")) {
					t.Errorf("read %q and the error %v, want %v", got, err, tt.want)
				}
			})
		})
	}
}
