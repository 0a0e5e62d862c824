package kind

import (
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/hub/members/connect/transport"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/runtime/podexec"
)

// testCheckpoint makes the shop's database write a checkpoint and tell its position, as before a volume snapshot, with
// the hub's permissions in a member.
func (e *environment) testCheckpoint(t *testing.T) {
	t.Helper()
	for name, r := range e.each() {
		t.Run(name, func(t *testing.T) {
			in, mark, last := r.asHub(t), r.mark(t), r.checkpoint(t)
			target := podexec.Container{Pod: client.ObjectKey{Namespace: namespace, Name: shop + "-database-0"}, Name: database.Container}
			output, err := podexec.Run(t.Context(), in, target, podexec.Command{Args: database.SnapshotCommand(v1.EnginePostgreSQL)})
			if err != nil || database.Position(v1.EnginePostgreSQL, output) == "" {
				t.Fatalf("the position is %q, %v", output, err)
			}
			if after := r.checkpoint(t); after == last {
				t.Errorf("the last checkpoint of %s is still the one at %s", shop, last)
			}
			ran := r.since(t, mark).ByServiceAccount(config.Namespace, "shopfleet-hub").Where(func(event audit.Event) bool { return event.Subresource == "exec" })
			if len(ran.Code(http.StatusSwitchingProtocols)) == 0 {
				t.Errorf("want a command:\n%s", ran)
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
	l, err := transport.Open(access, transport.Timeouts{Dial: patience, Request: patience, Probe: patience}, transport.Limits{})
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

// checkpoint returns the position of the last checkpoint in the shop's database.
func (r *region) checkpoint(t *testing.T) string {
	t.Helper()
	return r.must(t, "exec", "--namespace", namespace, shop+"-database-0", "--container=database", "--",
		"psql", "--host=/var/run/postgresql", "--username=postgres", "--dbname=postgres", "--tuples-only", "--no-align",
		"--command=SELECT checkpoint_lsn FROM pg_control_checkpoint()")
}
