package podexec

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
)

// member is a cluster whose API server is a handler.
type member struct {
	cluster.Cluster // Nothing else of it is used.
	config          *rest.Config
	client          *http.Client
}

func (m member) GetConfig() *rest.Config     { return m.config }
func (m member) GetHTTPClient() *http.Client { return m.client }

// newMember returns a member that knows SPDY only, and answers its requests with a function.
func newMember(t *testing.T, spdy http.HandlerFunc) member {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.Method != http.MethodPost {
			http.Error(w, "unable to upgrade", http.StatusBadRequest)
			return
		}
		spdy(w, request)
	}))
	t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return member{client: server.Client(), config: &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: authority}}}
}

func run(ctx context.Context, in cluster.Cluster) error {
	target := Container{Pod: client.ObjectKey{Namespace: "shops", Name: "shop-database-0"}, Name: "database"}
	_, err := Run(ctx, in, target, Command{Args: []string{"sh", "-c", "exit 3"}})
	return err
}

// TestRunEndsWithItsContext checks that a server that accepts a request over SPDY and stays silent holds no worker.
func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}), make(chan struct{})
	in := newMember(t, func(http.ResponseWriter, *http.Request) {
		close(asked)
		<-release
	})
	t.Cleanup(func() { close(release) })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, in) }()
	<-asked
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want that of the context", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for the server")
	}
}

func TestRunRefused(t *testing.T) {
	t.Parallel()
	in := newMember(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) })
	err := run(t.Context(), in)
	if !apierrors.IsForbidden(err) {
		t.Errorf("error %v, want Forbidden", err)
	}
	if err != nil && strings.Contains(err.Error(), "exit") {
		t.Errorf("the error has the command: %v", err)
	}
}
