package identity

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// maxAnswer is the maximum size of a response in bytes; a page of 500 snapshots has 2
// MiB.
const maxAnswer = 32 << 20

// Client returns a client for one call: its requests have a token and end with ctx. It
// does not follow redirects. See is called with each response.
func (c *Credentials) Client(ctx context.Context, next http.RoundTripper, see func(*http.Response)) *http.Client {
	return &http.Client{CheckRedirect: NoRedirect, Transport: RoundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := c.authorized(next, r.WithContext(ctx))
		if err == nil {
			see(response)
		}
		return response, err
	})}
}

// authorized sends a request with a token. A token that is refused is forgotten, and a
// request that changes nothing is sent once more with another.
func (c *Credentials) authorized(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	for again := true; ; again = false {
		token, fresh, err := c.Get(r.Context())
		if err != nil {
			return nil, err
		}
		out := r.Clone(r.Context())
		out.Header.Set("Authorization", "Bearer "+token)
		response, err := next.RoundTrip(out)
		if err != nil {
			return nil, fmt.Errorf("sending the request: %w", err)
		}
		if response.StatusCode == http.StatusUnauthorized {
			c.Drop(r.Context(), token)
			if again && !fresh && r.Method == http.MethodGet {
				_ = response.Body.Close()
				continue
			}
		}
		response.Body = limited{io.LimitReader(response.Body, maxAnswer), response.Body}
		return response, nil
	}
}

// limited is a response body with a maximum size.
type limited struct {
	io.Reader
	io.Closer
}

// ParseEndpoint reads the base URL of an API: https, or http on a loopback address. It
// reports whether tokens may be sent there.
func ParseEndpoint(text string) (*url.URL, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, false
	}
	return u, u.Scheme == "https" || u.Scheme == "http" && Loopback(u)
}
