package fencing

import (
	"net/http"
	"path"
	"sync/atomic"

	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// Pause blocks writes to one cluster while a user has paused it. The zero value blocks nothing.
// It is safe for concurrent use.
type Pause struct {
	on atomic.Bool
}

// Set begins or ends the pause. Requests whose body is being sent when it begins fail.
func (p *Pause) Set(on bool) { p.on.Store(on) }

// Wrap returns a transport to an API server that returns apierror.ErrPaused during the pause for
// each request but reads, reviews of access and of tokens, requests for tokens and dry runs.
func (p *Pause) Wrap(next http.RoundTripper) http.RoundTripper {
	return &pausable{next: next, pause: p}
}

// check returns apierror.ErrPaused during the pause.
func (p *Pause) check() error {
	if p.on.Load() {
		return apierror.ErrPaused
	}
	return nil
}

type pausable struct {
	next  http.RoundTripper
	pause *Pause
}

// RoundTrip sends a request, or returns apierror.ErrPaused.
func (p *pausable) RoundTrip(request *http.Request) (*http.Response, error) {
	if reads(request) || requestsToken(request) || request.URL.Query().Get("dryRun") == "All" {
		return p.next.RoundTrip(request)
	}
	return guard(request, p.next, p.pause.check)
}

// WrappedRoundTripper returns the wrapped transport, for apimachinery.
func (p *pausable) WrappedRoundTripper() http.RoundTripper { return p.next }

// requestsToken reports whether a request is for a token of a ServiceAccount, which is not stored.
func requestsToken(request *http.Request) bool {
	account := path.Dir(request.URL.Path)
	return request.Method == http.MethodPost && path.Base(request.URL.Path) == "token" && path.Base(path.Dir(account)) == "serviceaccounts"
}
