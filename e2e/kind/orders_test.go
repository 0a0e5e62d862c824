package kind

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/kind/images"
)

var (
	errNoOrder = errors.New("the page shows no order")
	errWaiting = errors.New("not yet")
)

// testOrders lets customers order in each region, on both engines, and looks for the orders in the region's own
// database.
func (e *environment) testOrders(t *testing.T) {
	t.Helper()
	t.Run(shop, ordersAt(e, shop))
	t.Run(ledger, ordersAt(e, ledger))
}

func ordersAt(w *environment, app string) func(*testing.T) {
	return func(t *testing.T) {
		placed := map[string]string{}
		for name, r := range w.each() {
			t.Run(name, func(t *testing.T) {
				id := r.order(t, app)
				placed[r.name] = id
				if !slices.Contains(r.inDatabase(t, app), id) {
					t.Errorf("order %s is not in the region's database", id)
				}
			})
		}
		for name, id := range placed {
			for _, r := range w.others(name) {
				if slices.Contains(r.inDatabase(t, app), id) {
					t.Errorf("order %s of %s is in the database of %s, too", id, name, r.name)
				}
			}
		}
	}
}

// order places an order through the Service of an application's frontend, and
// returns its id.
func (r *region) order(t *testing.T, app string) string {
	t.Helper()
	cfg, err := r.Config()
	if err != nil {
		t.Fatal(err)
	}
	clientset, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var id string
	// All tries are one order: they have the same key.
	form := url.Values{"customer": {"Grace"}, "key": {rand.Text()}, "quantity-filters": {"2"}}.Encode()
	fleettest.Within(t, patience, "an order at "+app+" in "+r.name, func(ctx context.Context) error {
		// The response redirects to the order's page, and the client follows.
		page, err := clientset.CoreV1().RESTClient().Post().
			AbsPath("/api/v1/namespaces", namespace, "services", "http:"+app+"-frontend:http", "proxy/orders").
			SetHeader("Content-Type", "application/x-www-form-urlencoded").
			Body([]byte(form)).
			DoRaw(ctx)
		if err != nil {
			return fmt.Errorf("%w: %s", err, page)
		}
		found := regexp.MustCompile(`id="order-id"[^>]*>([^<]+)<`).FindSubmatch(page)
		if found == nil {
			return fmt.Errorf("%w: %s", errNoOrder, page)
		}
		id = string(found[1])
		return nil
	})
	return id
}

// inDatabase returns the ids of the orders in an application's database.
func (r *region) inDatabase(t *testing.T, app string) []string {
	t.Helper()
	ask := `psql --host=/var/run/postgresql --username=postgres --dbname="$APP_DATABASE" --tuples-only --no-align --command='SELECT id FROM orders'`
	if app == ledger {
		ask = `MYSQL_PWD="$APP_PASSWORD" mysql --protocol=tcp --host=127.0.0.1 --user="$APP_USER" --database="$APP_DATABASE" ` +
			`--skip-column-names --silent --execute='SELECT id FROM orders'`
	}
	var ids []string
	fleettest.Within(t, patience, "the database of "+app+" in "+r.name, func(ctx context.Context) error {
		out, err := r.kubectl(ctx, "exec", "--namespace", namespace, app+"-database-0", "--container=database", "--", "sh", "-c", ask)
		ids = strings.Fields(out)
		return err
	})
	return ids
}

// testDatabaseKilled ends the server's processes and deletes the pod: the orders
// are there afterwards, and customers can order.
func (e *environment) testDatabaseKilled(t *testing.T) {
	t.Helper()
	for _, app := range []string{shop, ledger} {
		e.inEach(t, app, func(t *testing.T, r *region) {
			t.Helper()
			before := []string{r.order(t, app)}
			r.killDatabase(t, app)
			before = append(before, r.order(t, app))
			r.must(t, "delete", "pod", app+"-database-0", "--namespace", namespace)
			before = append(before, r.order(t, app))
			after := r.inDatabase(t, app)
			for _, id := range before {
				if !slices.Contains(after, id) {
					t.Errorf("order %s is lost", id)
				}
			}
		})
	}
	e.running(t, shop, ledger)
}

// killDatabase ends the server as a crash would, and waits until its container
// was started again.
func (r *region) killDatabase(t *testing.T, app string) {
	t.Helper()
	pod := &corev1.Pod{}
	if err := r.get(t.Context(), app+"-database-0", pod); err != nil {
		t.Fatal(err)
	}
	before := restarts(pod)
	if err := r.kill(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	fleettest.Within(t, patience, "the database to be started again", func(ctx context.Context) error {
		if err := r.get(ctx, pod.Name, pod); err != nil {
			return err
		}
		if restarts(pod) == before || !ready(pod) {
			return errWaiting
		}
		return nil
	})
}

// kill ends the first container of a pod as a crash would.
func (v *view) kill(ctx context.Context, pod *corev1.Pod) error { return v.signal(ctx, pod, "KILL") }

// signal sends a signal to the first container of a pod, from the node.
func (v *view) signal(ctx context.Context, pod *corev1.Pod, name string) error {
	_, id, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	pid, err := v.Exec(ctx, "crictl", "inspect", "--output", "go-template", "--template", "{{.info.pid}}", id)
	if err == nil {
		_, err = v.Exec(ctx, "kill", "-"+name, strings.TrimSpace(pid))
	}
	return err
}

func restarts(pod *corev1.Pod) int32 {
	var sum int32
	for _, status := range pod.Status.ContainerStatuses {
		sum += status.RestartCount
	}
	return sum
}

func ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// testRollingUpdate brings the next version of the storefront to all regions while
// customers order all the time: none of them sees an error, no order is lost.
func (e *environment) testRollingUpdate(t *testing.T) {
	t.Helper()
	customersOf := map[string]*customers{}
	for _, r := range e.regions {
		customersOf[r.name] = r.sendCustomers(t, shop)
	}
	e.change(t, fmt.Sprintf(`{"spec":{"frontend":{"image":%q},"backend":{"image":%q}}}`, images.FrontendNew, images.BackendNew))
	e.running(t, shop)
	for name, r := range e.each() {
		t.Run(name, func(t *testing.T) {
			r.all(t, "frontend", images.FrontendNew)
			r.all(t, "backend", images.BackendNew)
			placed := customersOf[r.name].end(t)
			stored := r.inDatabase(t, shop)
			for _, id := range placed {
				if !slices.Contains(stored, id) {
					t.Errorf("order %s is lost", id)
				}
			}
		})
	}
}

// all checks that all pods of a component of the shop run an image.
func (r *region) all(t *testing.T, component, image string) {
	t.Helper()
	pods, err := r.pods(t.Context(), component)
	if err != nil {
		t.Fatal(err)
	}
	for i := range pods {
		if got := pods[i].Spec.Containers[0].Image; got != image {
			t.Errorf("pod %s runs %s, want %s", pods[i].Name, got, image)
		}
	}
}

// customers represents a pod that orders from a shop until it ends.
type customers struct {
	region *region
	pod    *corev1.Pod
}

// sendCustomers starts customers of an application in the region, and returns when they order.
func (r *region) sendCustomers(t *testing.T, app string) *customers {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "customers-"}}
	pod.Spec = corev1.PodSpec{
		RestartPolicy:                corev1.RestartPolicyNever,
		AutomountServiceAccountToken: new(false),
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot:   new(true),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{{
			Name: "customers", Image: images.Customer,
			Args: []string{"-url", "http://" + app + "-frontend", "-customers", "3"},
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false),
				Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}},
	}
	if err := r.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Delete(context.WithoutCancel(t.Context()), pod, client.GracePeriodSeconds(0)) })
	c := &customers{region: r, pod: pod}
	fleettest.Within(t, patience, "customers to order", func(ctx context.Context) error {
		lines, err := c.lines(ctx)
		if err == nil && len(lines) < 10 {
			err = errWaiting
		}
		return err
	})
	return c
}

// outcome is a line of the customers' output.
type outcome struct {
	Time   string `json:"time"`
	Order  string `json:"order"`
	Error  string `json:"error"`
	Placed *int   `json:"placed"`
}

func (c *customers) lines(ctx context.Context) ([]outcome, error) {
	out, err := c.region.kubectl(ctx, "logs", "--namespace", namespace, c.pod.Name)
	if err != nil {
		return nil, err
	}
	var all []outcome
	for line := range strings.Lines(out) {
		var o outcome
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			return nil, fmt.Errorf("parsing %q: %w", line, err)
		}
		all = append(all, o)
	}
	return all, nil
}

// end stops the customers after their current orders, and returns all orders.
func (c *customers) end(t *testing.T) []string {
	t.Helper()
	r := c.region
	if err := r.get(t.Context(), c.pod.Name, c.pod); err != nil {
		t.Fatal(err)
	}
	if err := r.signal(t.Context(), c.pod, "TERM"); err != nil {
		t.Fatal(err)
	}
	var said []outcome
	fleettest.Within(t, patience, "customers to leave", func(ctx context.Context) (err error) {
		if said, err = c.lines(ctx); err != nil {
			return err
		}
		if said[len(said)-1].Placed == nil {
			return errWaiting
		}
		return nil
	})
	var placed []string
	failed := 0
	for _, o := range said {
		switch {
		case o.Order != "":
			placed = append(placed, o.Order)
		case o.Error != "":
			failed++
			t.Errorf("%s: a customer saw: %s", o.Time, o.Error)
		}
	}
	t.Logf("%s: %d orders, %d failed", r.name, len(placed), failed)
	return placed
}
