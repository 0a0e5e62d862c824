package podexec

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/transport/websocket"
	"k8s.io/streaming/pkg/httpstream"
	streamspdy "k8s.io/streaming/pkg/httpstream/spdy"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
)

// pingPeriod is the interval of pings on a SPDY connection, the same as for WebSockets.
const pingPeriod = 5 * time.Second

// Container is a container of a pod.
type Container struct {
	Pod  client.ObjectKey
	Name string
}

// executor runs one command in one container, once. It is not safe for concurrent use.
type executor struct {
	next remotecommand.Executor
	// refused is the error of SPDY; its executor only keeps the text.
	refused error
}

// newExecutor sends no request. The command is run unchanged.
func newExecutor(in cluster.Cluster, target Container, command []string) (*executor, error) {
	config := rest.CopyConfig(in.GetConfig())
	core, err := corev1client.NewForConfigAndClient(config, in.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	address := core.RESTClient().Post().Resource("pods").Namespace(target.Pod.Namespace).Name(target.Pod.Name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{
			Container: target.Name, Command: command, Stdin: true, Stdout: true, Stderr: true,
		}, scheme.ParameterCodec).URL()
	secured, err := tlsOf(config)
	if err != nil {
		return nil, fmt.Errorf("preparing TLS: %w", err)
	}
	config.Transport, config.TLSClientConfig = nil, rest.TLSClientConfig{}
	first, err := overWebSocket(config, secured, address)
	if err != nil {
		return nil, err
	}
	e := &executor{}
	second, err := e.overSPDY(config, secured, address)
	if err != nil {
		return nil, err
	}
	e.next, err = remotecommand.NewFallbackExecutor(first, second, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	if err != nil {
		return nil, fmt.Errorf("creating an executor: %w", err)
	}
	return e, nil
}

// tlsOf returns the TLS configuration of the API server. The configuration of a member
// has a transport, which cannot be upgraded, and no TLS configuration.
func tlsOf(config *rest.Config) (*tls.Config, error) {
	found, err := rest.TLSConfigFor(config)
	if config.Transport != nil {
		found, err = utilnet.TLSClientConfig(config.Transport)
	}
	if err != nil {
		return nil, err
	}
	if found == nil { // The machine's authorities.
		found = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	found = found.Clone()
	found.NextProtos = []string{"http/1.1"} // The only one that can be upgraded.
	return found, nil
}

func overWebSocket(config *rest.Config, secured *tls.Config, target *url.URL) (remotecommand.Executor, error) {
	config = rest.CopyConfig(config)
	// There is no other way to pass TLS without files or PEM.
	config.WrapTransport = transport.Wrappers(func(rt http.RoundTripper) http.RoundTripper {
		if dialer, ok := rt.(*websocket.RoundTripper); ok {
			dialer.TLSConfig = secured
		}
		return rt
	}, config.WrapTransport)
	made, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, target.String())
	if err != nil {
		return nil, fmt.Errorf("creating a WebSocket executor: %w", err)
	}
	return made, nil
}

func (e *executor) overSPDY(config *rest.Config, secured *tls.Config, target *url.URL) (remotecommand.Executor, error) {
	dialer, err := streamspdy.NewRoundTripperWithConfig(streamspdy.RoundTripperConfig{
		TLS: secured, Proxier: config.Proxy, PingPeriod: pingPeriod,
	})
	if err != nil {
		return nil, fmt.Errorf("creating a SPDY transport: %w", err)
	}
	wrapped, err := rest.HTTPWrappersForConfig(config, dialer)
	if err != nil {
		return nil, fmt.Errorf("adding the credentials: %w", err)
	}
	listening := roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := wrapped.RoundTrip(request)
		if err == nil && response.StatusCode != http.StatusSwitchingProtocols {
			e.refused = apierrors.NewGenericServerResponse(response.StatusCode, request.Method, corev1.Resource("pods/exec"), "", "", 0, true)
		}
		return response, err
	})
	// A redirect would send the credentials to another server.
	made, err := remotecommand.NewSPDYExecutorRejectRedirects(listening, spdy.NewUpgraderForStreaming(dialer), http.MethodPost, target)
	if err != nil {
		return nil, fmt.Errorf("creating a SPDY executor: %w", err)
	}
	return made, nil
}

// roundTripper implements http.RoundTripper by a function.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// stream runs the command until it ends, or ctx is done and the server has responded to the request.
func (e *executor) stream(ctx context.Context, options remotecommand.StreamOptions) error {
	err := e.next.StreamWithContext(ctx, options)
	if err == nil {
		return nil
	}
	// The command is part of the URLs of the hub's and the member's requests.
	text := oneLine(regexp.MustCompile(`\?command=[^\s"]*`).ReplaceAllString(err.Error(), ""), errorBytes)
	return &streamError{text: text, causes: []error{err, e.refused}}
}

// streamError is an error without the URL, which contains the command.
type streamError struct {
	text   string
	causes []error
}

// Error returns one line of about a kilobyte at most.
func (e *streamError) Error() string { return e.text }

// Unwrap returns the causes.
func (e *streamError) Unwrap() []error { return e.causes }
