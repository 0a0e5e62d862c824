package identity

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	// requestTimeout is how long one request may take, its answer included.
	requestTimeout = 30 * time.Second
	// maxAnswer is how long an answer may be, in bytes: a page of a thousand snapshots
	// with fifty tags each has less.
	maxAnswer = 64 << 20
)

// ErrAnswer means that a response does not come from the API.
var ErrAnswer = errors.New("the answer is not one of this API")

// Wire sends the SDK's requests. It follows no redirection: a signed request is for whom
// it was signed for.
type Wire struct {
	transport http.RoundTripper
	check     CheckAnswer
}

// CheckAnswer reports whether an answer is one of the API that was asked; body is all of it.
type CheckAnswer func(response *http.Response, body []byte) error

// NewWire makes a wire that returns no answer but those that pass a check.
func NewWire(client *http.Client, check CheckAnswer) Wire {
	return Wire{transport: transportOf(client), check: check}
}

func transportOf(client *http.Client) http.RoundTripper {
	if client.Transport == nil {
		return http.DefaultTransport
	}
	return client.Transport
}

// Do sends a request and reads its answer whole, so that it is known to be complete
// before anything is concluded from it.
func (w Wire) Do(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	response, err := w.transport.RoundTrip(r.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if closing := response.Body.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = w.check(response, body)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the answer, status %d: %w", response.StatusCode, err)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// CheckXML checks that an answer is an XML document as EC2 and STS make them, and that it
// has an end.
func CheckXML(_ *http.Response, body []byte) error {
	root, err := Root(body)
	if err == nil && !strings.HasSuffix(root, "Response") {
		return ErrAnswer
	}
	return err
}

// Root is the name of the outermost element of an XML document that is complete.
func Root(body []byte) (string, error) {
	decoder := xml.NewDecoder(bytes.NewReader(body))
	root := ""
	for {
		token, err := decoder.Token()
		switch {
		case errors.Is(err, io.EOF) && root != "":
			return root, nil
		case err != nil:
			return "", fmt.Errorf("%w: %w", ErrAnswer, err)
		}
		if start, ok := token.(xml.StartElement); ok && root == "" {
			root = start.Name.Local
		}
	}
}
