package fleet_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
)

// kubeletTimeout bounds a request that the API server passes on to a kubelet.
const kubeletTimeout = 10 * time.Second

// testKubelet sends the requests that an API server passes on to nodes and pods.
func testKubelet(member *fleet.Cluster) func(*testing.T) {
	return func(t *testing.T) {
		client := clientOf(t, member.AdminConfig())
		pod := runningPod(t, client)
		get := func(path string, segments ...any) func(context.Context) error {
			return func(ctx context.Context) error {
				return client.CoreV1().RESTClient().Get().AbsPath(fmt.Sprintf(path, segments...)).Do(ctx).Error()
			}
		}
		const refused, forbidden = "dial tcp 127.0.0.1:1: connect: connection refused", "address not allowed"
		for name, request := range map[string]struct {
			send func(context.Context) error
			want string
		}{
			"exec":       {func(ctx context.Context) error { return execIn(ctx, member, pod) }, refused},
			"logs":       {get("/api/v1/namespaces/%s/pods/%s/log", namespace, pod.Name), refused},
			"node proxy": {get("/api/v1/nodes/%s/proxy/healthz", pod.Spec.NodeName), forbidden},
			"pod proxy":  {get("/api/v1/namespaces/%s/pods/%s:80/proxy/", namespace, pod.Name), forbidden},
		} {
			t.Run(name, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), kubeletTimeout)
				defer cancel()
				if err := request.send(ctx); err == nil || !strings.Contains(err.Error(), request.want) {
					t.Errorf("got error %v, want one that contains %q", err, request.want)
				}
			})
		}
	}
}

func runningPod(t *testing.T, client kubernetes.Interface) *corev1.Pod {
	t.Helper()
	var pod *corev1.Pod
	fleettest.Eventually(t, "a pod to run", func(ctx context.Context) error {
		found, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{
			LabelSelector: "app=web", FieldSelector: "status.phase=" + string(corev1.PodRunning),
		})
		if err != nil {
			return err
		}
		if len(found.Items) == 0 {
			return fmt.Errorf("none of the pods in %q runs", namespace)
		}
		pod = &found.Items[0]
		return nil
	})
	return pod
}

func execIn(ctx context.Context, member *fleet.Cluster, pod *corev1.Pod) error {
	client, err := kubernetes.NewForConfig(member.AdminConfig())
	if err != nil {
		return err
	}
	target := client.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: []string{"true"}, Stdout: true}, scheme.ParameterCodec).URL()
	executor, err := remotecommand.NewSPDYExecutor(member.AdminConfig(), "POST", target)
	if err != nil {
		return err
	}
	return executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: new(strings.Builder)})
}

// testConfigured reads what the fleet configures. It sends nothing but reads of the API.
func testConfigured(f *fleet.Fleet) func(*testing.T) {
	return func(t *testing.T) {
		for _, cluster := range f.Clusters() {
			t.Run(cluster.Name(), func(t *testing.T) {
				for what, host := range configuredHosts(t, filepath.Join(f.Dir(), cluster.Name()), cluster) {
					if !isLoopback(host) {
						t.Errorf("%s: %q is not a loopback address", what, host)
					}
				}
			})
		}
		for _, id := range processes(t, f.Dir()) {
			checkCommandLine(t, id.PID)
		}
	}
}

// isLoopback reports whether a host is a loopback address. A name is none: it would be
// looked up.
func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback()
}

// configuredHosts returns all hosts that the objects and the kubeconfigs of a cluster
// give to its components, by where they stand.
func configuredHosts(t *testing.T, dir string, cluster *fleet.Cluster) map[string]string {
	t.Helper()
	hosts := map[string]string{}
	files, err := filepath.Glob(filepath.Join(dir, "*kubeconfig"))
	if err != nil || len(files) == 0 {
		t.Fatalf("kubeconfigs of %q: got %v, error %v", cluster.Name(), files, err)
	}
	for _, file := range files {
		config, err := clientcmd.LoadFromFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, each := range config.Clusters {
			hosts[filepath.Base(file)] = hostOf(t, each.Server)
		}
	}
	client := clientOf(t, cluster.AdminConfig())
	addNodes(t, client, hosts)
	addServices(t, client, hosts)
	addWebhooks(t, cluster, hosts)
	return hosts
}

func hostOf(t *testing.T, address string) string {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Hostname()
}

// addNodes adds the addresses of nodes and pods. The API server dials only the internal
// IP of a node.
func addNodes(t *testing.T, client kubernetes.Interface, hosts map[string]string) {
	t.Helper()
	nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes.Items {
		for _, address := range node.Status.Addresses {
			if address.Type != corev1.NodeHostName || address.Address != node.Name {
				hosts[fmt.Sprintf("%s of node %s", address.Type, node.Name)] = address.Address
			}
		}
	}
	pods, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		for _, ip := range pod.Status.PodIPs {
			hosts["IP "+ip.IP+" of pod "+pod.Name] = ip.IP
		}
		for _, ip := range pod.Status.HostIPs {
			hosts["host IP "+ip.IP+" of pod "+pod.Name] = ip.IP
		}
	}
}

func addServices(t *testing.T, client kubernetes.Interface, hosts map[string]string) {
	t.Helper()
	services, err := client.CoreV1().Services("").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(services.Items) == 0 {
		t.Fatalf("services: got %v, error %v", services, err)
	}
	for _, service := range services.Items {
		for _, ip := range service.Spec.ClusterIPs {
			if ip != corev1.ClusterIPNone {
				hosts["cluster IP of service "+service.Name] = ip
			}
		}
		for _, host := range append(service.Spec.ExternalIPs, service.Spec.ExternalName) {
			if host != "" {
				hosts["external host of service "+service.Name] = host
			}
		}
	}
	slices, err := client.DiscoveryV1().EndpointSlices("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, slice := range slices.Items {
		for _, endpoint := range slice.Endpoints {
			for _, address := range endpoint.Addresses {
				hosts["endpoint "+address+" of "+slice.Name] = address
			}
		}
	}
}

// addWebhooks adds the URLs of webhooks. A webhook or an aggregated API without one is
// a Service.
func addWebhooks(t *testing.T, cluster *fleet.Cluster, hosts map[string]string) {
	t.Helper()
	client, err := dynamic.NewForConfig(cluster.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []schema.GroupVersionResource{
		{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
		{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	} {
		found, err := client.Resource(kind).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range found.Items {
			for _, address := range webhookURLs(object.Object) {
				hosts[fmt.Sprintf("%s of %s", address, object.GetName())] = hostOf(t, address)
			}
		}
	}
}

// webhookURLs returns the URLs of all clientConfigs within an object.
func webhookURLs(value any) []string {
	var urls []string
	switch value := value.(type) {
	case []any:
		for _, each := range value {
			urls = append(urls, webhookURLs(each)...)
		}
	case map[string]any:
		config, _ := value["clientConfig"].(map[string]any)
		if address, ok := config["url"].(string); ok {
			urls = append(urls, address)
		}
		for _, each := range value {
			urls = append(urls, webhookURLs(each)...)
		}
	}
	return urls
}

// flagHosts returns the hosts in an argument of a component: those of URLs, of
// addresses with ports, and bare addresses and ranges.
func flagHosts(argument string) []string {
	flag, value, _ := strings.Cut(argument, "=")
	// An issuer is compared with that of tokens. The API server reads its own keys.
	if flag == "--service-account-issuer" {
		return nil
	}
	var hosts []string
	for _, part := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == '=' }) {
		if address, err := url.Parse(part); err == nil && address.Host != "" {
			hosts = append(hosts, address.Hostname())
		} else if host, _, err := net.SplitHostPort(part); err == nil {
			hosts = append(hosts, host)
		} else if prefix, err := netip.ParsePrefix(part); err == nil {
			hosts = append(hosts, prefix.Addr().String())
		} else if _, err := netip.ParseAddr(part); err == nil {
			hosts = append(hosts, part)
		}
	}
	return hosts
}

func TestFlagHosts(t *testing.T) {
	for argument, want := range map[string]string{
		"--etcd-servers=http://127.0.0.1:1,http://a:2": "127.0.0.1 a",
		"--initial-cluster=default=http://10.0.0.1:0":  "10.0.0.1",
		"--server-address=:80":                         "",
		"--bind-address=0.0.0.0":                       "0.0.0.0",
		"--listen=[::]:80":                             "::",
		"--cidr=10.0.0.0/24":                           "10.0.0.0",
	} {
		got := flagHosts(argument)
		if len(got) == 0 || strings.Join(got, " ") != want || isLoopback(got[len(got)-1]) {
			t.Errorf("%s: got %q, want %q, not loopback", argument, got, want)
		}
	}
	for _, argument := range []string{"--log-level=warn", "--config=/tmp/a.yaml", "--grace=87600h0m0s", "--all", "--secure-port=0"} {
		if got := flagHosts(argument); len(got) != 0 {
			t.Errorf("%s: got %q", argument, got)
		}
	}
}
