package aws

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

// errAnswer is what is wrong with an answer that is none of EC2's.
var errAnswer = errors.New("the answer is not one of this API")

// wire sends the SDK's requests to EC2 and STS. It follows no redirection: a signed
// request is for whom it was signed for.
type wire struct{ transport http.RoundTripper }

func newWire(client *http.Client) wire { return wire{transport: transportOf(client)} }

func transportOf(client *http.Client) http.RoundTripper {
	if client.Transport == nil {
		return http.DefaultTransport
	}
	return client.Transport
}

// Do sends a request and reads its answer whole, so that it is known to be complete
// before anything is concluded from it.
func (w wire) Do(r *http.Request) (*http.Response, error) {
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
		err = checkAnswer(body)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the answer, status %d: %w", response.StatusCode, err)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// checkAnswer checks that an answer is an XML document as EC2 and STS make them, and
// that it has an end.
func checkAnswer(body []byte) error {
	decoder := xml.NewDecoder(bytes.NewReader(body))
	root := ""
	for {
		token, err := decoder.Token()
		switch {
		case errors.Is(err, io.EOF) && strings.HasSuffix(root, "Response"):
			return nil
		case errors.Is(err, io.EOF):
			return errAnswer
		case err != nil:
			return fmt.Errorf("%w: %w", errAnswer, err)
		}
		if start, ok := token.(xml.StartElement); ok && root == "" {
			root = start.Name.Local
		}
	}
}
