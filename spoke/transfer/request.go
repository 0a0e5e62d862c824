package transfer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

const (
	// attempts is the number of attempts per part. The pause between them starts with
	// firstPause and doubles.
	attempts   = 5
	firstPause = time.Second

	// renewalPause is the time between two looks at an Order that is waited for.
	renewalPause = 10 * time.Second

	// The timeout of a request is requestGrace plus a second per slowest bytes: for a part
	// of 1 GiB about the lifetime of an order.
	requestGrace = time.Minute
	slowest      = 320 << 10

	connectTimeout = 30 * time.Second
	// answerTimeout bounds the wait for a response after the request was sent.
	answerTimeout = 5 * time.Minute
	// continueTimeout bounds the wait for 100-continue.
	continueTimeout = 5 * time.Second

	// checksumHeader is the header of S3 for the checksum of a part.
	checksumHeader = "X-Amz-Checksum-Crc32c"

	// reasonBytes is how much of a response is read for its error code.
	reasonBytes = 4096
)

// transport returns an HTTP transport that trusts the given certificate authorities, or
// the system's.
func transport(authorities []byte) (*http.Transport, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(authorities) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(authorities) {
			return nil, failure(order.ExitFinal, "parsing the CA bundle: %w", errCertificates)
		}
	}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSClientConfig:       config,
		TLSHandshakeTimeout:   connectTimeout,
		ResponseHeaderTimeout: answerTimeout,
		ExpectContinueTimeout: continueTimeout,
		// The stored bytes must be transferred unchanged.
		DisableCompression: true,
	}, nil
}

// part transfers one part, with retries, unless the Order has no request for it.
func (m *mover) part(ctx context.Context, index int, move func(context.Context, order.Part) error) error {
	pause := firstPause
	for attempt := 1; ; attempt++ {
		before := m.progress.done()
		p, err := m.current(ctx, index)
		if err == nil && p.Request != nil {
			err = m.try(ctx, p, move)
		}
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ended(ctx)
		}
		err = &Error{Status: Status(err), Err: fmt.Errorf("part %d of %d: %w", index+1, len(m.order.Parts), err)}
		if Status(err) != order.ExitRetry || attempt == attempts {
			return err
		}
		m.progress.rewind(before)
		m.progress.say(fmt.Sprintf("%v: retrying in %s", err, pause))
		if err := m.wait(ctx, pause); err != nil {
			return err
		}
		pause *= 2
	}
}

// try transfers a part once, until its request expires at the latest: the hub relies on that nothing is sent later.
func (m *mover) try(ctx context.Context, p order.Part, move func(context.Context, order.Part) error) error {
	expiring, cancel := context.WithTimeoutCause(ctx, m.order.ExpiresAt.Sub(m.clock.Now()), errExpired)
	defer cancel()
	limited, cancel := context.WithTimeout(expiring, requestGrace+time.Duration(p.Bytes/slowest)*time.Second)
	defer cancel()
	err := move(limited, p)
	switch {
	case err == nil || !errors.Is(context.Cause(expiring), errExpired):
		return err
	case m.reread != nil:
		return retry("the requests: %w", errExpired)
	default:
		return failure(order.ExitRefused, "the requests: %w", errExpired)
	}
}

// current returns a part of the newest Order. One whose requests have expired is waited for until it is renewed,
// unless it is never renewed, or was that very moment: then the clocks differ.
func (m *mover) current(ctx context.Context, index int) (order.Part, error) {
	for waited := false; ; waited = true {
		renewed, err := m.renew()
		if err != nil {
			return order.Part{}, err
		}
		p := m.order.Parts[index]
		switch {
		case p.Request == nil, m.clock.Now().Before(m.order.ExpiresAt):
			return p, nil
		case m.reread == nil, waited && renewed:
			return order.Part{}, failure(order.ExitRefused, "the requests: %w", errExpired)
		case !waited:
			m.progress.say("the requests have expired: waiting for the hub to renew them")
		}
		if err := m.wait(ctx, renewalPause); err != nil {
			return order.Part{}, err
		}
	}
}

// renew takes the Order as it is now, and reports whether it is another one than before.
func (m *mover) renew() (bool, error) {
	if m.reread == nil {
		return false, nil
	}
	o, err := m.reread()
	if err != nil {
		return false, err
	}
	sameSize := func(a, b order.Part) bool { return a.Bytes == b.Bytes }
	if o.Direction != m.order.Direction || o.File != m.order.File || o.SHA256 != m.order.SHA256 || !slices.EqualFunc(o.Parts, m.order.Parts, sameSize) {
		return false, failure(order.ExitFinal, "the renewed order: %w", errOther)
	}
	renewed := !o.ExpiresAt.Equal(m.order.ExpiresAt)
	m.order = o
	return renewed, nil
}

func (m *mover) wait(ctx context.Context, pause time.Duration) error {
	timer := m.clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}

// put uploads a part. A part that exists already counts as uploaded.
func (m *mover) put(ctx context.Context, p order.Part, section *io.SectionReader) error {
	before := m.progress.done()
	// An earlier attempt may still read from its own reader.
	body := io.NewSectionReader(section, 0, p.Bytes)
	response, err := m.do(ctx, p, &reader{stopped: ctx.Err, from: body, progress: m.progress})
	if err != nil {
		return err
	}
	defer func() { finish(response.Body) }()
	answer := answer{response}
	switch answer.StatusCode {
	case http.StatusOK, http.StatusCreated, http.StatusNoContent:
		return nil
	case http.StatusPreconditionFailed:
		m.progress.rewind(before + p.Bytes)
		return nil
	case http.StatusConflict:
		// S3 returns it for concurrent writes.
		if reason := answer.reason(); reason != "BlobAlreadyExists" {
			return failure(order.ExitRetry, "%w %d %s", errAnswer, answer.StatusCode, reason)
		}
		m.progress.rewind(before + p.Bytes)
		return nil
	case http.StatusNotFound:
		// The bucket does not exist.
		return answer.failure(order.ExitRefused)
	case http.StatusBadRequest:
		// S3 returns it if the bucket has a default retention and the request has no checksum.
		reason := answer.reason()
		if reason == "InvalidRequest" && p.Request.Header[checksumHeader] == "" {
			return failure(order.ExitChecksums, "%w", errUnsummed)
		}
		return answer.failed(order.ExitRefused, reason)
	case http.StatusForbidden:
		// Azure returns it if the signature allows to create blobs, but not to overwrite them.
		if answer.Header.Get("x-ms-error-code") == "UnauthorizedBlobOverwrite" {
			m.progress.rewind(before + p.Bytes)
			return nil
		}
	}
	return answer.failure(statusOf(answer))
}

// get downloads a part.
func (m *mover) get(ctx context.Context, p order.Part, to io.Writer) error {
	response, err := m.do(ctx, p, nil)
	if err != nil {
		return err
	}
	defer func() { finish(response.Body) }()
	answer := answer{response}
	switch {
	case answer.StatusCode == http.StatusNotFound || answer.StatusCode == http.StatusGone:
		return answer.failure(order.ExitGone)
	case answer.StatusCode != http.StatusOK:
		return answer.failure(statusOf(answer))
	case answer.ContentLength >= 0 && answer.ContentLength != p.Bytes:
		return failure(order.ExitFinal, "it has %d bytes, want %d: %w", answer.ContentLength, p.Bytes, errOther)
	}
	// Reading one more byte detects an object that is too large.
	written := &writer{to: to}
	n, err := io.Copy(written, io.LimitReader(&reader{stopped: ctx.Err, from: answer.Body, progress: m.progress}, p.Bytes+1))
	switch {
	case written.err != nil:
		return retry("writing the file: %w", written.err)
	case err != nil:
		return retry("reading the answer: %w", withoutURL(err))
	case n != p.Bytes:
		return failure(order.ExitFinal, "it has %d bytes or more, want %d: %w", n, p.Bytes, errOther)
	}
	return nil
}

// do sends the request of a part once. It uses the transport directly: an http.Client
// would follow redirects, and include the URL in errors.
func (m *mover) do(ctx context.Context, p order.Part, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, p.Request.Method, p.Request.URL, body)
	if err != nil {
		return nil, failure(order.ExitFinal, "the request: %w", withoutURL(err))
	}
	for name, value := range p.Request.Header {
		if strings.EqualFold(name, "Host") {
			request.Host = value
			continue
		}
		request.Header.Set(name, value)
	}
	if body != nil {
		request.ContentLength = p.Bytes
		// The storage can reject the request before the body is sent.
		request.Header.Set("Expect", "100-continue")
	}
	response, err := m.http.RoundTrip(request)
	if err != nil {
		return nil, retry("sending the request: %w", withoutURL(err))
	}
	return response, nil
}

// finish closes the body of a response.
func finish(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, reasonBytes) // So that the connection can be reused.
	_ = body.Close()
}

// answer is a response of the storage.
type answer struct{ *http.Response }

func (a answer) failure(status int) error { return a.failed(status, a.reason()) }

// failed returns the error for a response whose error code was read.
func (a answer) failed(status int, reason string) error {
	if reason == "RequestTimeout" { // S3 returns it with status 400.
		status = order.ExitRetry
	}
	if reason != "" {
		reason = " " + reason
	}
	return failure(status, "%w %d%s", errAnswer, a.StatusCode, reason)
}

// reason returns the error code of S3, Cloud Storage or Azure, a single word. Other parts
// of a response may repeat the request.
func (a answer) reason() string {
	word := regexp.MustCompile(`^[A-Za-z]{1,64}$`)
	if code := a.Header.Get("X-Ms-Error-Code"); word.MatchString(code) {
		return code
	}
	text, err := io.ReadAll(io.LimitReader(a.Body, reasonBytes))
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return ""
	}
	if found := regexp.MustCompile(`<Code>([A-Za-z]{1,64})</Code>`).FindSubmatch(text); found != nil {
		return string(found[1])
	}
	return ""
}

// statusOf returns the exit status for an error response.
func statusOf(a answer) int {
	switch {
	case a.StatusCode >= 500, a.StatusCode == http.StatusTooManyRequests, a.StatusCode == http.StatusRequestTimeout:
		return order.ExitRetry
	default:
		return order.ExitRefused
	}
}
