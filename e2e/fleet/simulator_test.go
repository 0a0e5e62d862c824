package fleet_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
)

// simulatorRounds is how often each order is run: KWOK starts its parts in an order that
// varies.
const simulatorRounds = 4

// TestPodsRunInAnyOrder simulates a busy machine: the simulator restarts, and its
// requests are answered in the worst orders. A pod that was bound in the meantime runs
// nevertheless.
func TestPodsRunInAnyOrder(t *testing.T) {
	f := fleettest.Start(t, fleet.Options{Members: []fleet.ClusterSpec{{Name: "slow", Nodes: 1}}})
	member := f.Member("slow")
	client := clientOf(t, member.AdminConfig())
	nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 1 {
		t.Fatalf("nodes: got %v, error %v", nodes, err)
	}
	node := nodes.Items[0].Name
	const nodesPath, podsPath, leasesPath = "/api/v1/nodes", "/api/v1/pods", "/leases"
	allPods, podsOfNode := "spec.nodeName!=", "spec.nodeName="+node
	for name, order := range map[string]order{
		"nodes after pods":         {held: nodesPath, until: allPods},
		"pods after those of node": {held: podsPath, heldFields: allPods, until: podsOfNode},
		// If the simulator takes leases at all, it must not need them to see pods.
		"leases after pods": {held: leasesPath, until: podsOfNode},
	} {
		t.Run(name, func(t *testing.T) {
			for round := range simulatorRounds {
				if err := member.Kill(t.Context(), fleet.Kwok); err != nil {
					t.Fatal(err)
				}
				slow := &slowServer{order: order, answered: make(chan struct{})}
				slow.serve(t, member.AdminConfig(), filepath.Join(f.Dir(), member.Name(), "kwok.kubeconfig"))
				pod := fmt.Sprintf("%s-%d", strings.ReplaceAll(name, " ", "-"), round)
				bind(t, client, pod, node)
				if err := member.Restart(t.Context()); err != nil {
					t.Fatal(err)
				}
				fleettest.Eventually(t, pod+" to run", func(ctx context.Context) error {
					found, err := client.CoreV1().Pods(metav1.NamespaceDefault).Get(ctx, pod, metav1.GetOptions{})
					if err != nil {
						return err
					}
					return expect("phase", found.Status.Phase, corev1.PodRunning)
				})
			}
		})
	}
}

// bind creates a pod that already has its node.
func bind(t *testing.T, client kubernetes.Interface, name, node string) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			NodeName:   node,
			Containers: []corev1.Container{{Name: "main", Image: "example.com/main:1"}},
		},
	}
	if _, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// order is the order of delayed responses.
type order struct {
	// held is the end of the path of what is held, heldFields its field selector's
	// start.
	held, heldFields string
	// until is the start of the field selector of the list that ends the wait.
	until string
}

// slowServer is a proxy of an API server. It holds requests back until another one has
// been answered.
type slowServer struct {
	order

	next     http.Handler
	once     sync.Once
	answered chan struct{}
}

// serve starts the server and writes a kubeconfig that leads to it.
func (s *slowServer) serve(t *testing.T, config *rest.Config, kubeconfig string) {
	t.Helper()
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	s.next = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1,
		// A killed simulator leaves its requests behind.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	server := httptest.NewUnstartedServer(s)
	// Closing waits for the answers, and a watch has no end of its own.
	server.Config.BaseContext = func(net.Listener) context.Context { return t.Context() }
	server.Start()
	t.Cleanup(server.Close)
	clientConfig := clientcmdapi.NewConfig()
	clientConfig.Clusters["slow"] = &clientcmdapi.Cluster{Server: server.URL}
	clientConfig.Contexts["slow"] = &clientcmdapi.Context{Cluster: "slow"}
	clientConfig.CurrentContext = "slow"
	if err := clientcmd.WriteToFile(*clientConfig, kubeconfig); err != nil {
		t.Fatal(err)
	}
}

func (s *slowServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	fields := query.Get("fieldSelector")
	// The simulator first asks for one node, to see whether the server answers.
	first := query.Get("limit") == "1"
	if r.Method == http.MethodGet && !first && strings.HasSuffix(r.URL.Path, s.held) && strings.HasPrefix(fields, s.heldFields) {
		select {
		case <-s.answered:
		case <-r.Context().Done():
			return
		}
	}
	s.next.ServeHTTP(w, r)
	if strings.HasPrefix(fields, s.until) && !query.Has("watch") {
		s.once.Do(func() { close(s.answered) })
	}
}
