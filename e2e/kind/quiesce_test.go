package kind

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/hub/members/transport"
	"github.com/shopfleet/shopfleet/hub/quiesce"
)

// testQuiesce quiesces the databases before a volume snapshot, with the hub's
// permissions in a member.
func (w *environment) testQuiesce(t *testing.T) {
	t.Helper()
	for name, r := range w.each() {
		t.Run(name, func(t *testing.T) {
			in, mark := r.asHub(t), r.mark(t)
			last := r.checkpoint(t)
			r.quiesce(t, in, w, shop)()
			if after := r.checkpoint(t); after == last {
				t.Errorf("the last checkpoint of %s is still the one at %s", shop, last)
			}

			release := r.quiesce(t, in, w, ledger)
			if out, err := r.touchOrders(t.Context()); err == nil || !strings.Contains(err.Error(), "Lock wait timeout exceeded") {
				t.Errorf("a write to %s does not wait: %v\n%s", ledger, err, out)
			}
			r.inDatabase(t, ledger) // Reads do not wait.
			release()
			if out, err := r.touchOrders(t.Context()); err != nil {
				t.Errorf("a write to %s waits after the release: %v\n%s", ledger, err, out)
			}
			r.order(t, ledger)

			ran := r.since(t, mark).ByServiceAccount(config.Namespace, "shopfleet-hub").Where(func(e audit.Event) bool { return e.Subresource == "exec" })
			if len(ran) != 2 || len(ran.Code(http.StatusSwitchingProtocols)) != 2 {
				t.Errorf("want two commands, neither refused:\n%s", ran)
			}
		})
	}
}

// asHub returns the region as the hub has it: with its permissions, over its link.
func (r *region) asHub(t *testing.T) cluster.Cluster {
	t.Helper()
	admin, err := r.Config()
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSpace(r.must(t, "create", "token", "shopfleet-hub", "--namespace", config.Namespace))
	access := &rest.Config{Host: admin.Host, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: admin.CAData}}
	l, err := transport.Open(access, transport.Timeouts{Dial: patience, Request: patience, Probe: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	in, err := cluster.New(l.Config(), func(o *cluster.Options) { o.HTTPClient = l.Client() })
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// quiesce quiesces the database of an application, and returns the function that releases
// it.
func (r *region) quiesce(t *testing.T, in cluster.Cluster, w *environment, name string) func() {
	t.Helper()
	app := &v1.EcommerceApp{}
	if err := w.hub.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, app); err != nil {
		t.Fatal(err)
	}
	release, err := quiesce.New(quiesce.Options{Timeout: patience}).Quiesce(t.Context(), in, app)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return release
}

// checkpoint returns the position of the last checkpoint in the shop's database.
func (r *region) checkpoint(t *testing.T) string {
	t.Helper()
	return r.must(t, "exec", "--namespace", namespace, shop+"-database-0", "--container=database", "--",
		"psql", "--host=/var/run/postgresql", "--username=postgres", "--dbname=postgres", "--tuples-only", "--no-align",
		"--command=SELECT checkpoint_lsn FROM pg_control_checkpoint()")
}

// touchOrders updates the ledger's orders as the application, and waits for a lock for
// two seconds.
func (r *region) touchOrders(ctx context.Context) (string, error) {
	const sql = "SET SESSION lock_wait_timeout = 2; UPDATE orders SET id = id"
	return r.kubectl(ctx, "exec", "--namespace", namespace, ledger+"-database-0", "--container=database", "--", "sh", "-c",
		fmt.Sprintf(`MYSQL_PWD="$APP_PASSWORD" mysql --protocol=tcp --host=127.0.0.1 --user="$APP_USER" --database="$APP_DATABASE" --execute='%s'`, sql))
}
