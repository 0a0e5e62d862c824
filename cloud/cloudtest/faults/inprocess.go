package faults

import (
	"net/http"
	"net/http/httptest"
)

// InProcess returns a transport that calls a handler without a network. The handler sees the Host
// of the request, since some servers choose the bucket by it.
func InProcess(h http.Handler) http.RoundTripper { return inProcess{h} }

type inProcess struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (i inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	in := r.Clone(r.Context())
	in.Host = r.URL.Host
	if r.Host != "" {
		in.Host = r.Host
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	i.handler.ServeHTTP(w, in)
	response := w.Result()
	response.Request = r
	return response, nil
}
