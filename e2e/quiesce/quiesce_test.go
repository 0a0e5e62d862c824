package quiesce_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/hub/members/transport"
	"github.com/shopfleet/shopfleet/hub/quiesce"
)

// soon bounds attempts that get no response, usual those that get one.
const (
	soon  = time.Second
	usual = fleettest.Timeout
)

// account is a ServiceAccount in the fleet's member.
const hubAccount = "shopfleet-hub"

func TestPrepare(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	f := fleettest.Start(t, fleet.Options{Members: []fleet.ClusterSpec{
		{Name: "agentless", APIServerOnly: true}, {Name: "agent", APIServerOnly: true},
	}})
	for name, folder := range map[string]string{"agentless": "member", "agent": "agent"} {
		t.Run(name, func(t *testing.T) {
			if err := f.Member(name).ApplyFolder(t.Context(), "../../config/rbac/"+folder); err != nil {
				t.Fatal(err)
			}
			w := newEnvironment(t, f.Member(name))
			t.Run("permissions", w.testPermissions)
			t.Run("silent kubelet", w.testSilentKubelet)
			if name == "agentless" {
				t.Run("pods", w.testPods)
				t.Run("missing kubelet", w.testMissingKubelet)
			}
		})
	}
}

// environment is a member with one node.
type environment struct {
	client.Client
	member *fleet.Cluster
	kubelet
}

// kubelet accepts connections and never responds.
type kubelet struct {
	listener  net.Listener
	connected chan struct{}
}

func newEnvironment(t *testing.T, member *fleet.Cluster) *environment {
	t.Helper()
	admin, err := client.New(member.AdminConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &environment{Client: admin, member: member, kubelet: kubelet{connected: make(chan struct{}, 100)}}
	var config net.ListenConfig
	if w.listener, err = config.Listen(t.Context(), "tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.listener.Close() })
	go func() {
		for {
			conn, err := w.listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			w.connected <- struct{}{}
		}
	}()
	port := w.listener.Addr().(*net.TCPAddr).Port
	w.node(t, "silent", int32(port))
	return w
}

func (w *environment) node(t *testing.T, name string, port int32) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	w.create(t, node)
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = port
	if err := w.Status().Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
}

func (w *environment) create(t *testing.T, object client.Object) {
	t.Helper()
	if err := w.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

// shop makes a namespace and returns an application for it.
func (w *environment) shop(t *testing.T, engine v1.Engine) *v1.EcommerceApp {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "shops-"}}
	w.create(t, namespace)
	w.create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "default"}})
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "shop"}}
	app.Spec.Database = &v1.Database{Engine: engine}
	return app
}

// database makes the pod of an application's database, which changes say is another.
func (w *environment) database(t *testing.T, app *v1.EcommerceApp, node string, changes ...func(*corev1.Pod)) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: "shop-database-0", Labels: map[string]string{
		v1.ManagedByLabel: v1.ManagedBy, v1.InstanceLabel: "shop", v1.ComponentLabel: "database",
	}}}
	pod.Spec.NodeName = node
	pod.Spec.Containers = []corev1.Container{{Name: "database", Image: "postgres:15"}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "database", Ready: true}}
	pod.Status.Phase = corev1.PodRunning
	for _, change := range changes {
		change(pod)
	}
	status := pod.Status
	w.create(t, pod)
	pod.Status = status
	if err := w.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
}

// prepare quiesces the application's database as the hub would with a ServiceAccount.
func (w *environment) prepare(t *testing.T, account client.ObjectKey, app *v1.EcommerceApp, limit time.Duration) error {
	t.Helper()
	raw, err := w.member.ServiceAccountKubeconfig(t.Context(), account.Namespace, account.Name)
	if err != nil {
		t.Fatal(err)
	}
	access, err := clientcmd.RESTConfigFromKubeConfig(raw)
	if err != nil {
		t.Fatal(err)
	}
	l, err := transport.Open(access, transport.Timeouts{Dial: usual, Request: usual, Probe: usual})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	in, err := cluster.New(l.Config(), func(o *cluster.Options) { o.HTTPClient = l.Client() })
	if err != nil {
		t.Fatal(err)
	}
	release, err := quiesce.New(quiesce.Options{Timeout: limit}).Quiesce(t.Context(), in, app)
	if (release == nil) != (err != nil) {
		t.Errorf("there is something to release: %v, error %v", release != nil, err)
	}
	if err == nil {
		t.Fatal("a database that does not exist was quiesced")
	}
	if text := err.Error(); len(text) > 2048 || strings.Contains(text, "CHECKPOINT") || strings.ContainsAny(text, "\n") {
		t.Errorf("the error is no short line: %q", text)
	}
	return err
}

func hubKey() client.ObjectKey {
	return client.ObjectKey{Namespace: config.Namespace, Name: hubAccount}
}

// testPermissions checks that the hub's permissions are enough for each protocol, and needed.
func (w *environment) testPermissions(t *testing.T) {
	app := w.shop(t, v1.EnginePostgreSQL)
	w.database(t, app, "silent")
	get := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}
	exec := func(verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/exec"}, Verbs: verbs}
	}
	for name, c := range map[string]struct {
		account   client.ObjectKey
		forbidden bool
	}{
		"the hub's":         {hubKey(), false},
		"no WebSocket":      {w.account(t, app.Namespace, "posts", get, exec("create")), false},
		"no commands":       {w.account(t, app.Namespace, "reads", get), true},
		"not even the pods": {w.account(t, app.Namespace, "blind", exec("get", "create")), true},
	} {
		t.Run(name, func(t *testing.T) {
			err := w.prepare(t, c.account, app, soon)
			if apierrors.IsForbidden(err) != c.forbidden {
				t.Errorf("forbidden is to be %v: %v", c.forbidden, err)
			}
			if !c.forbidden {
				w.checkReached(t)
			}
		})
	}
}

func (w *environment) account(t *testing.T, namespace, name string, rules ...rbacv1.PolicyRule) client.ObjectKey {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	w.create(t, &corev1.ServiceAccount{ObjectMeta: meta})
	w.create(t, &rbacv1.Role{ObjectMeta: meta, Rules: rules})
	w.create(t, &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}},
	})
	return client.ObjectKey{Namespace: namespace, Name: name}
}

// checkReached fails if there was no connection to the kubelet, and forgets those there were.
func (w *environment) checkReached(t *testing.T) {
	t.Helper()
	select {
	case <-w.connected:
	default:
		t.Fatal("there was no connection to the kubelet")
	}
	for {
		select {
		case <-w.connected:
		default:
			return
		}
	}
}

// testSilentKubelet checks that the hub stops waiting in time, for either engine.
func (w *environment) testSilentKubelet(t *testing.T) {
	for _, engine := range []v1.Engine{v1.EnginePostgreSQL, v1.EngineMySQL} {
		t.Run(string(engine), func(t *testing.T) {
			app := w.shop(t, engine)
			w.database(t, app, "silent")
			if err := w.prepare(t, hubKey(), app, soon); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v, want a deadline's", err)
			}
			w.checkReached(t)
		})
	}
}

// testMissingKubelet checks that the error contains the response of the member's API server.
func (w *environment) testMissingKubelet(t *testing.T) {
	var config net.ListenConfig
	free, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	w.node(t, "absent", int32(port))
	app := w.shop(t, v1.EnginePostgreSQL)
	w.database(t, app, "absent")
	if err := w.prepare(t, hubKey(), app, usual); !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("error %v, want the kubelet's refusal", err)
	}
}

// testPods checks that commands run only in ready pods of the application's database.
func (w *environment) testPods(t *testing.T) {
	t.Run("none", func(t *testing.T) {
		if err := w.prepare(t, hubKey(), w.shop(t, v1.EnginePostgreSQL), usual); !apierrors.IsNotFound(err) {
			t.Errorf("error %v, want NotFound", err)
		}
	})
	t.Run("no database", func(t *testing.T) {
		app := w.shop(t, v1.EnginePostgreSQL)
		app.Spec.Database = nil
		if err := w.prepare(t, hubKey(), app, usual); !errors.Is(err, quiesce.ErrNoDatabase) {
			t.Errorf("error %v, want %v", err, quiesce.ErrNoDatabase)
		}
	})
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		want   error
	}{
		"not managed":           {func(p *corev1.Pod) { delete(p.Labels, v1.ManagedByLabel) }, quiesce.ErrForeign},
		"another application's": {func(p *corev1.Pod) { p.Labels[v1.InstanceLabel] = "other" }, quiesce.ErrForeign},
		"a dump's":              {func(p *corev1.Pod) { p.Labels[v1.ComponentLabel] = "database-backup" }, quiesce.ErrForeign},
		"not ready":             {func(p *corev1.Pod) { p.Status.ContainerStatuses[0].Ready = false }, quiesce.ErrNotReady},
		"not started":           {func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }, quiesce.ErrNotReady},
	} {
		t.Run(name, func(t *testing.T) {
			app := w.shop(t, v1.EnginePostgreSQL)
			w.database(t, app, "silent", c.change)
			if err := w.prepare(t, hubKey(), app, usual); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if len(w.connected) > 0 {
				t.Error("there was a connection to the kubelet")
			}
		})
	}
}
