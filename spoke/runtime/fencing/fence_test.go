package fencing

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

const (
	limit = 10 * time.Second
	lease = "/apis/coordination.k8s.io/v1/namespaces/n/leases/l"
	write = "/api/v1/namespaces/n/configmaps/c"
	pod   = "/api/v1/namespaces/n/pods/p"
)

// recorder is a transport that reads requests and answers them all alike.
type recorder struct {
	code int
	sent []string
	// before is called ahead of the next body.
	before func()
}

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	if r.before != nil {
		r.before()
		r.before = nil
	}
	if request.Body != nil {
		if _, err := io.ReadAll(request.Body); err != nil {
			return nil, err
		}
	}
	r.sent = append(r.sent, request.Method+" "+request.URL.Path)
	return &http.Response{StatusCode: r.code, Body: http.NoBody}, nil
}

func send(ctx context.Context, t *testing.T, client http.RoundTripper, method, url string) error {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.RoundTrip(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// TestFence lets time pass since the Lease was renewed.
func TestFence(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		code         int // of the answer to the renewal
		after        time.Duration
		method, path string
		sent         bool
	}{
		"renewed":                {http.StatusOK, limit - 1, http.MethodPatch, write, true},
		"created":                {http.StatusCreated, limit - 1, http.MethodPost, write, true},
		"renewed long ago":       {http.StatusOK, limit, http.MethodPatch, write, false},
		"taken by another":       {http.StatusConflict, 0, http.MethodDelete, write, false},
		"read":                   {http.StatusConflict, 0, http.MethodGet, write, true},
		"command in a pod":       {http.StatusConflict, 0, http.MethodGet, pod + "/exec", false},
		"attach to a pod":        {http.StatusConflict, 0, http.MethodGet, pod + "/attach", false},
		"port of a pod":          {http.StatusConflict, 0, http.MethodGet, pod + "/portforward", false},
		"command of the leader":  {http.StatusOK, limit - 1, http.MethodGet, pod + "/exec", true},
		"log of a pod":           {http.StatusConflict, 0, http.MethodGet, pod + "/log", true},
		"object named exec":      {http.StatusConflict, 0, http.MethodGet, "/api/v1/namespaces/n/configmaps/exec", true},
		"Lease":                  {http.StatusConflict, 0, http.MethodPut, lease, true},
		"review of a token":      {http.StatusConflict, 0, http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews", true},
		"review of access":       {http.StatusConflict, 0, http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", true},
		"token of an account":    {http.StatusConflict, 0, http.MethodPost, "/api/v1/namespaces/n/serviceaccounts/a/token", false},
		"deletion an hour later": {http.StatusOK, time.Hour, http.MethodDelete, write, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
			network := &recorder{code: tt.code}
			client := New(limit, now).Wrap(network)
			if err := send(t.Context(), t, client, http.MethodPut, lease); err != nil {
				t.Fatal(err)
			}
			now.SetTime(now.Now().Add(tt.after))
			network.sent = nil
			err := send(t.Context(), t, client, tt.method, tt.path)
			if sent := len(network.sent) == 1; sent != tt.sent || sent == errors.Is(err, apierror.ErrFenced) {
				t.Errorf("sent %t, want %t: %v", sent, tt.sent, err)
			}
		})
	}
}

// TestARenewalCountsFromItsStart renews with an API server that answers late.
func TestARenewalCountsFromItsStart(t *testing.T) {
	t.Parallel()
	now := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	network := &recorder{code: http.StatusOK, before: func() { now.SetTime(now.Now().Add(limit)) }}
	client := New(limit, now).Wrap(network)
	if err := send(t.Context(), t, client, http.MethodPut, lease); err != nil {
		t.Fatal(err)
	}
	if err := send(t.Context(), t, client, http.MethodPatch, write); !errors.Is(err, apierror.ErrFenced) {
		t.Errorf("got %v, want that the write is fenced", err)
	}
}

// TestNoFence checks processes without leader election.
func TestNoFence(t *testing.T) {
	t.Parallel()
	network := &recorder{code: http.StatusOK}
	var none *Fence
	if err := send(t.Context(), t, none.Wrap(network), http.MethodPatch, write); err != nil || len(network.sent) != 1 {
		t.Errorf("sent %v: %v", network.sent, err)
	}
}

// TestAWriteThatWaitsIsFenced stops a request between the check and the network, over both
// versions of HTTP: the API server must not get a whole body.
func TestAWriteThatWaitsIsFenced(t *testing.T) {
	t.Parallel()
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bodies := make(chan error, 1)
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPatch {
					_, err := io.ReadAll(r.Body)
					bodies <- err
				}
			}))
			server.EnableHTTP2 = http2
			server.StartTLS()
			defer server.Close()
			now := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
			stop := func() { now.SetTime(now.Now().Add(limit)) }
			client := New(limit, now).Wrap(holder{next: server.Client().Transport, held: stop})
			if err := send(t.Context(), t, client, http.MethodPut, server.URL+lease); err != nil {
				t.Fatal(err)
			}
			if err := send(t.Context(), t, client, http.MethodPatch, server.URL+write); !errors.Is(err, apierror.ErrFenced) {
				t.Errorf("got %v, want that the write is fenced", err)
			}
			server.Close() // Blocks until its handlers have returned.
			select {
			case err := <-bodies:
				if err == nil {
					t.Error("the server got the whole request")
				}
			default:
			}
		})
	}
}

// holder is a transport that calls a function before it sends a PATCH.
type holder struct {
	next http.RoundTripper
	held func()
}

func (h holder) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodPatch {
		h.held()
	}
	return h.next.RoundTrip(request)
}
