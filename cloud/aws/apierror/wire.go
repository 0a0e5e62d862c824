package apierror

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
	// RequestTimeout is the timeout of a request, including its response.
	RequestTimeout = 30 * time.Second
	// maxAnswer is the maximum size of a response in bytes; a page of a thousand
	// snapshots with fifty tags each is smaller.
	maxAnswer = 64 << 20
)

// ErrAnswer means that a response does not come from the API.
var ErrAnswer = errors.New("the answer is not one of this API")

// Wire sends the SDK's requests. It does not follow redirects: a signed request is valid
// for one host only.
type Wire struct {
	transport http.RoundTripper
	check     CheckAnswer
}

// CheckAnswer returns an error unless body is the complete response of the requested API.
type CheckAnswer func(response *http.Response, body []byte) error

// NewWire returns a Wire that checks responses.
func NewWire(client *http.Client, check CheckAnswer) Wire {
	return Wire{transport: TransportOf(client), check: check}
}

// TransportOf returns the transport of a client.
func TransportOf(client *http.Client) http.RoundTripper {
	if client.Transport == nil {
		return http.DefaultTransport
	}
	return client.Transport
}

// Do sends a request and reads the whole response, so that incomplete ones are detected.
func (w Wire) Do(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(r.Context(), RequestTimeout)
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

// CheckXML checks that a response is a complete XML document, as EC2 and STS return.
func CheckXML(_ *http.Response, body []byte) error {
	root, err := Root(body)
	if err == nil && !strings.HasSuffix(root, "Response") {
		return ErrAnswer
	}
	return err
}

// Root returns the name of the outermost element of a complete XML document.
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
