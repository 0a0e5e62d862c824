package fakemembers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/e2e/fleet/internal/pki"
)

// headerTimeout bounds the time for the headers of a request.
const headerTimeout = 10 * time.Second

// Member is one member cluster. It is safe for concurrent use.
type Member struct {
	name, token, address string
	authority            []byte
	certificate          tls.Certificate
	store                *store

	mu       sync.Mutex
	server   *http.Server // Nil while the member is closed.
	requests map[string]int
}

// New returns a member that listens on a free port of a loopback address until Close.
func New(ctx context.Context, name string) (*Member, error) {
	authority, err := pki.NewAuthority(name)
	if err != nil {
		return nil, err
	}
	pair, err := authority.Issue(pki.Subject{User: name, Hosts: []string{"127.0.0.1"}})
	if err != nil {
		return nil, err
	}
	m := &Member{
		name: name, token: string(uuid.NewUUID()), address: "127.0.0.1:0", authority: authority.Certificate(),
		store: newStore(clock.RealClock{}), requests: map[string]int{},
	}
	if m.certificate, err = tls.X509KeyPair(pair.Certificate, pair.Key); err != nil {
		return nil, fmt.Errorf("loading the certificate of %q: %w", name, err)
	}
	if err := m.populate(); err != nil {
		return nil, fmt.Errorf("filling %q: %w", name, err)
	}
	return m, m.Open(ctx)
}

// Kubeconfig returns a kubeconfig that may do everything.
func (m *Member) Kubeconfig() ([]byte, error) {
	return pki.Kubeconfig{Cluster: m.name, User: "hub", Server: "https://" + m.address, Authority: m.authority, Token: m.token}.Encode()
}

// Open makes the member listen on its address again.
func (m *Member) Open(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.server != nil {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", m.address)
	if err != nil {
		return fmt.Errorf("opening %q: %w", m.name, err)
	}
	m.address = listener.Addr().String()
	m.server = &http.Server{
		Handler: m, ReadHeaderTimeout: headerTimeout, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{m.certificate}, MinVersion: tls.VersionTLS12},
	}
	server := m.server
	go func() {
		if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			panic(err) // A member that stopped by itself falsifies what is measured.
		}
	}()
	return nil
}

// Close ends all connections, and has the member refuse others until Open.
func (m *Member) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.server == nil {
		return nil
	}
	err := m.server.Close()
	m.server = nil
	if err != nil {
		return fmt.Errorf("closing %q: %w", m.name, err)
	}
	return nil
}

// Requests returns how often the member was asked for what: method, resource with its group, name of a
// ConfigMap, whether nothing was to be stored, and status code. Watches are counted when they end.
func (m *Member) Requests() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.requests)
}

func (m *Member) count(r *http.Request, code int) {
	t, _ := targetOf(r.URL.Path)
	what := t.resource
	if t.version.Group != "" {
		what += "." + t.version.Group
	}
	if t.subresource != "" {
		what += "/" + t.subresource
	}
	if t.resource == "configmaps" {
		what += " " + t.name
	}
	if isDryRun(r) {
		what += " dryRun"
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests[fmt.Sprintf("%s %s %d", r.Method, what, code)]++
}

// populate creates what every cluster has: namespaces, a node and a StorageClass.
func (m *Member) populate() error {
	m.store.mu.Lock()
	defer m.store.mu.Unlock()
	for _, name := range []string{metav1.NamespaceSystem, metav1.NamespaceDefault} {
		if err := m.store.add(m.store.of("", "namespaces"), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, false); err != nil {
			return err
		}
	}
	if err := m.store.add(m.store.of("storage.k8s.io", "storageclasses"), &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{Name: "standard", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}},
		Provisioner: "ebs.csi.aws.com", AllowVolumeExpansion: new(true),
	}, false); err != nil {
		return err
	}
	return m.store.add(m.store.of("", "nodes"), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: m.name + "-node", Labels: map[string]string{
			corev1.LabelTopologyRegion: "eu-west-1", corev1.LabelTopologyZone: "eu-west-1a",
		}},
		Spec: corev1.NodeSpec{ProviderID: "aws:///eu-west-1a/" + m.name},
	}, false)
}
