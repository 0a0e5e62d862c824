package accounts

import (
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	dialTimeout     = 10 * time.Second
	handshakeLimit  = 10 * time.Second
	headerLimit     = 30 * time.Second
	idleLimit       = 90 * time.Second
	connectionsHost = 16
)

// NewTransport returns a transport with a timeout for each phase of a request. It uses
// the proxy of the environment.
func NewTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout:   handshakeLimit,
		ResponseHeaderTimeout: headerLimit,
		IdleConnTimeout:       idleLimit,
		MaxConnsPerHost:       connectionsHost,
		ForceAttemptHTTP2:     true,
	}
}

// NewRequests returns the counter of requests to cloud providers.
func NewRequests() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "shopfleet_cloud_requests_total",
		Help: "Requests to cloud providers, by provider, CloudAccount and outcome: the HTTP status, or error when there was no answer.",
	}, []string{"provider", "account", "outcome"})
}

// counted is a http.RoundTripper that counts requests.
type counted struct {
	next  http.RoundTripper
	count *prometheus.CounterVec
}

// RoundTrip implements http.RoundTripper.
func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(r)
	outcome := "error"
	if err == nil {
		outcome = strconv.Itoa(response.StatusCode)
	}
	c.count.WithLabelValues(outcome).Inc()
	return response, err
}
