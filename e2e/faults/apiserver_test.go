package faults_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/shopfleet/shopfleet/e2e/faults"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
)

// served is a proxy in front of a real API server, and a client behind the proxy.
type served struct {
	*faults.Proxy
	// client goes through the proxy, and direct does not.
	client, direct kubernetes.Interface
}

// TestAPIServer runs what depends on an API server: credentials, watches and lists, in both
// encodings.
func TestAPIServer(t *testing.T) {
	f := fleettest.Start(t, fleet.Options{Members: []fleet.ClusterSpec{{Name: "bare", APIServerOnly: true}}})
	c := f.Member("bare")
	direct, err := kubernetes.NewForConfig(c.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := newAccount(t, c, direct)
	for _, encoding := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		s := &served{Proxy: faults.Start(t, faults.Target{Server: c.Server(), Authority: c.AdminConfig().CAData}), direct: direct}
		raw, err := s.Kubeconfig(kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		config, err := clientcmd.RESTConfigFromKubeConfig(raw)
		if err != nil {
			t.Fatal(err)
		}
		config.ContentType, config.QPS = encoding, -1
		if s.client, err = kubernetes.NewForConfig(config); err != nil {
			t.Fatal(err)
		}
		for name, test := range map[string]func(*testing.T){
			"errors": s.testErrors, "hold": s.testHold, "expire": s.testExpire, "swallow": s.testSwallow, "snapshot": s.testSnapshot,
		} {
			t.Run(encoding+"/"+name, test)
		}
	}
}

// newAccount creates a ServiceAccount that may do all with ConfigMaps, and returns its kubeconfig.
func newAccount(t *testing.T, c *fleet.Cluster, client kubernetes.Interface) []byte {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "caller"}}
	if _, err := client.CoreV1().ServiceAccounts("default").Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const permissions = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: caller}
rules: [{apiGroups: [""], resources: [configmaps], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: caller}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: caller}
subjects: [{kind: ServiceAccount, namespace: default, name: caller}]
`
	if err := c.Apply(t.Context(), []byte(permissions)); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := c.ServiceAccountKubeconfig(t.Context(), "default", "caller")
	if err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// create creates a ConfigMap beside the proxy. It is deleted after the test.
func (s *served) create(t *testing.T, name string) *corev1.ConfigMap {
	t.Helper()
	client := s.direct.CoreV1().ConfigMaps("default")
	created, err := client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := client.Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
	return created
}

// watch watches ConfigMaps from now on.
func (s *served) watch(t *testing.T) watch.Interface {
	t.Helper()
	client := s.client.CoreV1().ConfigMaps("default")
	list, err := client.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := client.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w
}

// next returns the next event, or nil if there is none for some time.
func next(t *testing.T, w watch.Interface, limit time.Duration) *watch.Event {
	t.Helper()
	select {
	case e, ok := <-w.ResultChan():
		if !ok {
			t.Fatal("the watch ended")
		}
		return &e
	case <-time.After(limit):
		return nil
	}
}

// wantAdded waits for the event of a new ConfigMap.
func wantAdded(t *testing.T, w watch.Interface, name string) {
	t.Helper()
	e := next(t, w, fleettest.Timeout)
	if e == nil {
		t.Fatalf("no event of %s", name)
	}
	if o, ok := e.Object.(*corev1.ConfigMap); !ok || e.Type != watch.Added || o.Name != name {
		t.Fatalf("got %s %v, want %s to be added", e.Type, e.Object, name)
	}
}

func (s *served) testErrors(t *testing.T) {
	t.Helper()
	client := s.client.CoreV1().ConfigMaps("default")
	for name, test := range map[string]struct {
		code int
		is   func(error) bool
	}{
		"unauthorized": {http.StatusUnauthorized, apierrors.IsUnauthorized},
		"forbidden":    {http.StatusForbidden, apierrors.IsForbidden},
		"conflict":     {http.StatusConflict, apierrors.IsConflict},
		"gone":         {http.StatusGone, apierrors.IsGone},
		"throttled":    {http.StatusTooManyRequests, apierrors.IsTooManyRequests},
		"broken":       {http.StatusInternalServerError, apierrors.IsInternalError},
		"unavailable":  {http.StatusServiceUnavailable, apierrors.IsServiceUnavailable},
		"timeout":      {http.StatusGatewayTimeout, apierrors.IsTimeout},
	} {
		fault := s.Inject(faults.Match{Verbs: []string{"get"}}, faults.Answer(test.code, 0))
		if _, err := client.Get(t.Context(), "any", metav1.GetOptions{}); !test.is(err) {
			t.Errorf("%s: got %v", name, err)
		}
		fault.Remove()
	}
	if _, err := client.Get(t.Context(), "any", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("got %v, want the API server's own answer", err)
	}
}

func (s *served) testHold(t *testing.T) {
	t.Helper()
	w := s.watch(t)
	s.create(t, "before")
	wantAdded(t, w, "before")
	fault := s.Inject(faults.Match{Resource: "configmaps"}, faults.Hold())
	s.create(t, "held")
	s.create(t, "held-too")
	if e := next(t, w, notYet); e != nil {
		t.Errorf("%s passed", e.Type)
	}
	fault.Remove()
	wantAdded(t, w, "held")
	wantAdded(t, w, "held-too")
}

func (s *served) testExpire(t *testing.T) {
	t.Helper()
	w := s.watch(t)
	fault := s.Inject(faults.Match{Resource: "configmaps"}, faults.Hold())
	s.create(t, "lost")
	if e := next(t, w, notYet); e != nil {
		t.Errorf("%s passed", e.Type)
	}
	fault.Expire()
	if e := next(t, w, fleettest.Timeout); e == nil || e.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(e.Object)) {
		t.Errorf("got %v, want the error 410", e)
	}
}

func (s *served) testSwallow(t *testing.T) {
	t.Helper()
	w := s.watch(t)
	fault := s.Inject(faults.Match{Resource: "configmaps"}, faults.Swallow())
	s.create(t, "vanished")
	fleettest.Eventually(t, "the event to vanish", func(context.Context) error {
		if fault.Fired() == 0 {
			return errors.New("not yet")
		}
		return nil
	})
	fault.Remove()
	s.create(t, "vanished-too")
	if e := next(t, w, notYet); e != nil {
		t.Errorf("%s passed on a stream that is to be silent", e.Type)
	}
	other := s.watch(t)
	s.create(t, "seen")
	wantAdded(t, other, "seen")
}

// testSnapshot makes a new informer see an older list first, as behind an API server that lags.
func (s *served) testSnapshot(t *testing.T) {
	t.Helper()
	names := func(store cache.Store) []string {
		found := store.ListKeys()
		slices.Sort(found)
		return found
	}
	inform := func() (cache.Store, func() []string) {
		var deleted []string
		store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
			ListerWatcher: cache.NewListWatchFromClient(s.client.CoreV1().RESTClient(), "configmaps", "default", fields.Everything()),
			ObjectType:    &corev1.ConfigMap{},
			Handler: cache.ResourceEventHandlerFuncs{DeleteFunc: func(any) {
				deleted = append(deleted, "one")
			}},
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); controller.RunWithContext(ctx) }()
		return store, func() []string { cancel(); <-done; return deleted }
	}
	older := s.create(t, "older")
	store, stop := inform()
	fleettest.Eventually(t, "the first informer", func(context.Context) error {
		if len(store.ListKeys()) == 0 {
			return errors.New("is empty")
		}
		return nil
	})
	stop()
	snapshot, err := s.Snapshot(t.Context(), faults.Match{Resource: "configmaps"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.direct.CoreV1().ConfigMaps("default").Delete(t.Context(), older.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.create(t, "newer")
	fault := s.Inject(faults.Match{Resource: "configmaps"}, faults.ServeSnapshot(snapshot))
	defer fault.Remove()
	store, stop = inform()
	fleettest.Eventually(t, "the second informer to catch up", func(context.Context) error {
		if got := names(store); !slices.Equal(got, []string{"default/newer"}) {
			return fmt.Errorf("it has %v", got)
		}
		return nil
	})
	if deleted := stop(); len(deleted) != 1 {
		t.Errorf("%d objects were seen and then deleted, want the older one", len(deleted))
	}
}
