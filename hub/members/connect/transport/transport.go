package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"

	"github.com/shopfleet/shopfleet/spoke/runtime/watchtimeout"
)

const (
	// pingAfter is how long a connection may be idle before it is pinged, and pingTimeout
	// how long the response may take. A dead connection that carries a watch is thus
	// closed within 15 s.
	pingAfter   = 10 * time.Second
	pingTimeout = 5 * time.Second

	idleConnections = 10
	idleTimeout     = 90 * time.Second
)

// errNoIdentity is returned when the response does not come from a Kubernetes API server.
var errNoIdentity = errors.New("the namespace kube-system has no UID")

// Timeouts bound the requests. All must be positive.
type Timeouts struct {
	// Dial bounds the TCP connection and, separately, the TLS handshake.
	Dial time.Duration
	// Request bounds a request including its response body; for a watch, until the headers
	// have arrived, and for a list, each wait for more of the body.
	Request time.Duration
	// Probe bounds one probe.
	Probe time.Duration
	// Watch is the time without data after which a watch ends; see package watchtimeout.
	Watch time.Duration
}

// Transport is the connection to the API server of one member. It is safe for concurrent
// use.
type Transport struct {
	config, limitedConfig *rest.Config
	client, limitedClient *http.Client

	probe  corev1client.NamespaceInterface
	limit  time.Duration
	base   *http.Transport
	dialer *connrotation.Dialer
	// requests sees all requests.
	requests *deadlines
}

// Open returns a transport without sending requests. The host of the configuration must
// have a scheme, and its credentials must be inline. Its WrapTransport sees each request
// before the deadline of the request begins.
func Open(access *rest.Config, timeouts Timeouts, limits Limits) (*Transport, error) {
	server, err := url.Parse(access.Host)
	if err != nil {
		return nil, fmt.Errorf("parsing the server's address: %w", err)
	}
	tlsConfig, err := rest.TLSConfigFor(access)
	if err != nil {
		return nil, fmt.Errorf("configuring TLS: %w", err)
	}
	dialer := connrotation.NewDialer((&net.Dialer{Timeout: timeouts.Dial}).DialContext)
	base := newTransport(tlsConfig, dialer, timeouts.Dial)
	base.DisableCompression = access.DisableCompression
	requests := &deadlines{next: watchtimeout.Wrap(timeouts.Watch)(base), server: server, limit: timeouts.Request}
	config := &rest.Config{
		Host:          access.Host,
		BearerToken:   access.BearerToken,
		UserAgent:     access.UserAgent,
		Transport:     requests,
		WrapTransport: access.WrapTransport,
		QPS:           -1, // limitedConfig sets the limits
		// Warnings of members would clutter the hub's log.
		WarningHandlerWithContext: rest.NoWarnings{},
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	limitedConfig := rest.CopyConfig(config)
	// Outside of all others: what waits is not sent yet.
	limitedConfig.Wrap(newLimiters(strings.TrimSuffix(server.Path, "/"), limits.WithDefaults()).wrap)
	limitedClient, err := rest.HTTPClientFor(limitedConfig)
	if err != nil {
		return nil, fmt.Errorf("creating a limited client: %w", err)
	}
	core, err := corev1client.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("creating a client for probes: %w", err)
	}
	return &Transport{
		config: config, client: client, limitedConfig: limitedConfig, limitedClient: limitedClient,
		probe: core.Namespaces(), limit: timeouts.Probe, base: base, dialer: dialer, requests: requests,
	}, nil
}

func newTransport(tlsConfig *tls.Config, dialer *connrotation.Dialer, handshake time.Duration) *http.Transport {
	if tlsConfig == nil { // The system's root certificates, and a token.
		tlsConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return &http.Transport{
		// Only the hub's administrator configures a proxy, in the environment.
		Proxy:               utilnet.NewProxierWithNoProxyCIDR(http.ProxyFromEnvironment),
		DialContext:         dialer.DialContext,
		TLSClientConfig:     tlsConfig,
		TLSHandshakeTimeout: handshake,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: idleConnections,
		IdleConnTimeout:     idleTimeout,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout:  pingAfter,
			PingTimeout:      pingTimeout,
			WriteByteTimeout: pingAfter,
		},
	}
}

// Config returns a copy of the configuration for clients of the member, with the deadlines and
// the credentials. It has no limits: it is for the few requests that keep the connection, which
// a busy member must not delay until it counts as lost.
func (t *Transport) Config() *rest.Config { return rest.CopyConfig(t.config) }

// Client returns the HTTP client for Config.
func (t *Transport) Client() *http.Client { return t.client }

// LimitedConfig returns a copy of the same configuration with the limits, for caches and
// reconcilers.
func (t *Transport) LimitedConfig() *rest.Config { return rest.CopyConfig(t.limitedConfig) }

// LimitedClient returns the HTTP client for LimitedConfig.
func (t *Transport) LimitedClient() *http.Client { return t.limitedClient }

// Received returns a number that grows with each response and with all data of its body.
func (t *Transport) Received() int64 { return t.requests.received.Load() }

// Probe asks the cluster for its kube-system namespace and returns the UID of it,
// which is the identity of the cluster. It takes at most Timeouts.Probe. Classify
// explains the error.
func (t *Transport) Probe(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	namespace, err := t.probe.Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("probing: %w", err)
	}
	if namespace.UID == "" {
		return "", fmt.Errorf("probing: %w", errNoIdentity)
	}
	return string(namespace.UID), nil
}

// Close closes all connections. Cancel everything that uses the transport first: it could
// dial again.
func (t *Transport) Close() {
	t.base.CloseIdleConnections()
	t.dialer.CloseAll()
}
