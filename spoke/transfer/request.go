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
	"strings"
	"time"

	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

const (
	// attempts is how often one part is tried, with pauses of firstPause, twice that, and
	// so on between them.
	attempts   = 5
	firstPause = time.Second

	// A request may take requestGrace and a second for each slowest bytes: a part of 1 GiB
	// as long as an order lives.
	requestGrace = time.Minute
	slowest      = 320 << 10

	connectTimeout = 30 * time.Second
	// answerTimeout is how long the storage may think when it has everything.
	answerTimeout = 5 * time.Minute
	// continueTimeout is how long the storage may think whether it wants a part at all.
	continueTimeout = 5 * time.Second

	// reasonBytes is how much of an answer is looked at for its reason.
	reasonBytes = 4096
)

// transport returns what sends requests of ours: to a service with a certificate of these
// authorities, or of those that everybody trusts.
func transport(authorities []byte) (*http.Transport, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(authorities) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(authorities) {
			return nil, failure(order.ExitFinal, "the bundle of authorities: %w", errCertificates)
		}
	}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSClientConfig:       config,
		TLSHandshakeTimeout:   connectTimeout,
		ResponseHeaderTimeout: answerTimeout,
		ExpectContinueTimeout: continueTimeout,
		// What is stored is what is wanted, compressed or not.
		DisableCompression: true,
	}, nil
}

// part moves one part, a few times if it must.
func (m *mover) part(ctx context.Context, index int, move func(context.Context) error) error {
	limit := requestGrace + time.Duration(m.order.Parts[index].Bytes/slowest)*time.Second
	pause := firstPause
	for attempt := 1; ; attempt++ {
		before := m.progress.done()
		limited, cancel := context.WithTimeout(ctx, limit)
		err := move(limited)
		cancel()
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
		m.progress.say(fmt.Sprintf("%v: it is tried again in %s", err, pause))
		if err := m.wait(ctx, pause); err != nil {
			return err
		}
		pause *= 2
	}
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

// put sends a part. One that is there already is not sent again, and good.
func (m *mover) put(ctx context.Context, p order.Part, section *io.SectionReader) error {
	before := m.progress.done()
	// A reader of its own: what is left of an earlier attempt may still read from the last.
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
		// S3's tells that somebody else writes at the same time.
		if reason := answer.reason(); reason != "BlobAlreadyExists" {
			return failure(order.ExitRetry, "%w %d %s", errAnswer, answer.StatusCode, reason)
		}
		m.progress.rewind(before + p.Bytes)
		return nil
	case http.StatusNotFound:
		// The bucket: an object need not be there to be made.
		return answer.failure(order.ExitRefused)
	case http.StatusForbidden:
		// Azure's word for it, to who may make blobs and not change them.
		if answer.Header.Get("x-ms-error-code") == "UnauthorizedBlobOverwrite" {
			m.progress.rewind(before + p.Bytes)
			return nil
		}
	}
	return answer.failure(statusOf(answer))
}

// get fetches a part.
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
	// One byte more than it should have tells that it is another.
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

// do sends the request of a part, once. There is no client between us and the transport:
// it would follow redirects, and put the URL into errors.
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
		// Whoever is refused learns it before a gigabyte is on its way.
		request.Header.Set("Expect", "100-continue")
	}
	response, err := m.http.RoundTrip(request)
	if err != nil {
		return nil, retry("asking the storage: %w", withoutURL(err))
	}
	return response, nil
}

// finish closes the body of an answer.
func finish(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, reasonBytes) // So that the connection can be used again.
	_ = body.Close()
}

// answer is what came of a request.
type answer struct{ *http.Response }

func (a answer) failure(status int) error {
	reason := a.reason()
	if reason == "RequestTimeout" { // S3's 400 is one.
		status = order.ExitRetry
	}
	if reason != "" {
		reason = " " + reason
	}
	return failure(status, "%w %d%s", errAnswer, a.StatusCode, reason)
}

// reason is the one word by which S3, Cloud Storage and Azure say what is wrong. All else in
// an answer may repeat the request.
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

// statusOf tells what to do about an answer that is neither done nor about a single object.
func statusOf(a answer) int {
	switch {
	case a.StatusCode >= 500, a.StatusCode == http.StatusTooManyRequests, a.StatusCode == http.StatusRequestTimeout:
		return order.ExitRetry
	default:
		return order.ExitRefused
	}
}
