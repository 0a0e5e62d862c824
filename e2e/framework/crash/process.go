package crash

import (
	"context"
	"errors"
	"net/http"
	"sync"
)

// ErrEnded is the error of each request of a process after its end.
var ErrEnded = errors.New("the process has ended")

// Moment is when a process ends, relative to a write. The zero value never ends one.
type Moment string

const (
	// BeforeSend ends before the request is sent.
	BeforeSend Moment = "before-send"
	// AfterCommit ends when the server has answered, before the process sees the answer.
	AfterCommit Moment = "after-commit"
	// AfterResponse ends when the process has the answer.
	AfterResponse Moment = "after-response"
)

// Moments returns all moments.
func Moments() []Moment { return []Moment{BeforeSend, AfterCommit, AfterResponse} }

// Hit describes what a write meets.
type Hit struct {
	At Moment
	// Ended is called when the process has ended there. Optional.
	Ended func()
}

// Process represents one run of a program, which a test can end: no request that it sends afterwards
// reaches a server. It is safe for concurrent use.
type Process struct {
	end func()
	// dead is closed when the process is ended, done when its context is.
	dead chan struct{}
	done <-chan struct{}
	hit  func(Request) Hit
}

// NewProcess returns a process that ends with ctx or at the write that hit chooses, and the
// context to run it in. Hit is called for each write, and may be called concurrently.
func NewProcess(ctx context.Context, hit func(Request) Hit) (context.Context, *Process) {
	running, cancel := context.WithCancel(ctx)
	p := &Process{dead: make(chan struct{}), done: running.Done(), hit: hit}
	p.end = sync.OnceFunc(func() {
		close(p.dead)
		cancel()
	})
	return running, p
}

// End ends the process.
func (p *Process) End() { p.end() }

// Ended reports whether the process has been ended.
func (p *Process) Ended() bool {
	select {
	case <-p.dead:
		return true
	default:
		return false
	}
}

// Wrap returns a transport that ends with the process. Parse describes a request, and reports
// whether it is a write.
func (p *Process) Wrap(next http.RoundTripper, parse func(*http.Request) (Request, bool)) http.RoundTripper {
	return RoundTripper(func(request *http.Request) (*http.Response, error) {
		if p.Ended() {
			return p.hold(request)
		}
		if r, write := parse(request); write {
			return p.write(next, request, p.hit(r))
		}
		return next.RoundTrip(request)
	})
}

// write sends a write, unless the process ends before.
func (p *Process) write(next http.RoundTripper, request *http.Request, hit Hit) (*http.Response, error) {
	if hit.At == BeforeSend {
		p.spring(hit)
		return p.hold(request)
	}
	response, err := next.RoundTrip(request)
	if hit.At == "" {
		return response, err
	}
	p.spring(hit)
	if hit.At == AfterResponse || err != nil {
		return response, err
	}
	_ = response.Body.Close()
	return p.hold(request)
}

func (p *Process) spring(hit Hit) {
	p.end()
	if hit.Ended != nil {
		hit.Ended()
	}
}

// hold blocks until the process has ended, or the request is given up.
func (p *Process) hold(request *http.Request) (*http.Response, error) {
	if request.Body != nil {
		_ = request.Body.Close()
	}
	select {
	case <-p.done:
	case <-request.Context().Done():
	}
	return nil, ErrEnded
}

// RoundTripper is a transport that is a function.
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (r RoundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }
