package kind

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/spoke/component"
)

const (
	primary = shop + "-database-0"
	replica = shop + "-database-1"
	// youngest is the age of a pod below which it is not replaced for a copy of the data.
	youngest = 5 * time.Minute
)

// askServer is a function of the shell that asks the server in the same container.
const askServer = `ask() {
  psql --no-psqlrc --no-password --quiet --tuples-only --no-align --set=ON_ERROR_STOP=1 \
    --host=/var/run/postgresql --username=postgres --dbname=postgres "$@"
}
`

// testReplica gives the shop's databases a replica: it copies the data, follows, is read from, and
// its lag is on the hub. The primary goes on as it is.
func (e *environment) testReplica(t *testing.T) {
	t.Helper()
	before := map[string]types.UID{}
	for _, r := range e.regions {
		before[r.name] = r.podOf(t, primary).UID
	}
	e.change(t, `{"spec":{"database":{"replicas":2}}}`)
	e.running(t, shop)
	for name, r := range e.each() {
		t.Run(name, func(t *testing.T) {
			e.follows(t, r)
			if after := r.podOf(t, primary).UID; after != before[r.name] {
				t.Error("the primary was replaced")
			}
		})
	}
}

// testReplicaLost stops the receiver of a replica until its primary has removed the WAL that it
// needs next: the replica is reported and not read from, gets the primary's data into the same
// volume, and follows again. Customers order all the time, and none of them sees an error.
func (e *environment) testReplicaLost(t *testing.T) {
	t.Helper()
	e.inEach(t, "lost", func(t *testing.T, r *region) {
		t.Helper()
		e.follows(t, r)
		ordering, claim, pod := r.sendCustomers(t, shop), r.replicaClaim(t), r.podOf(t, replica)
		r.lose(t)
		fleettest.Within(t, patience, "the replica in "+r.name+" to be lost", func(ctx context.Context) error {
			return r.reported(ctx, v1.ReplicaLost)
		})
		// The kubelet notices by a probe, and the controller by an observation: either may be first.
		fleettest.Within(t, patience, "reads from the lost replica in "+r.name+" to end", func(ctx context.Context) error {
			return r.readFrom(ctx, primary)
		})
		fleettest.Within(t, youngest+patience, "the replica in "+r.name+" to be replaced", func(ctx context.Context) error {
			return r.replaced(ctx, pod.UID)
		})
		e.follows(t, r)
		if out := r.must(t, "logs", "--namespace", namespace, replica, "--container="+component.PrepareContainer); !strings.Contains(out, "the primary's data is copied again") {
			t.Errorf("the replica did not copy the data again: it says\n%s", out)
		}
		if after := r.replicaClaim(t); after.UID != claim.UID || after.Spec.VolumeName != claim.Spec.VolumeName {
			t.Errorf("claim %s on volume %s became claim %s on %s", claim.UID, claim.Spec.VolumeName, after.UID, after.Spec.VolumeName)
		}
		placed, stored := ordering.end(t), r.inDatabase(t, shop)
		for _, id := range placed {
			if !slices.Contains(stored, id) {
				t.Errorf("order %s is lost", id)
			}
		}
	})
	e.removeReplicas(t)
}

// removeReplicas leaves the shop as it was without replicas. The claims are a user's to delete.
func (e *environment) removeReplicas(t *testing.T) {
	t.Helper()
	e.change(t, `{"spec":{"database":{"replicas":null}}}`)
	e.running(t, shop)
	for _, r := range e.regions {
		r.gone(t, &corev1.Pod{ObjectMeta: objectMeta(replica)})
		claim := r.replicaClaim(t)
		if err := r.Delete(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
		r.gone(t, claim)
	}
}

// follows waits until the replica of a region is read from, both statuses say that it follows, and it
// has an order that is placed now.
func (e *environment) follows(t *testing.T, r *region) {
	t.Helper()
	fleettest.Within(t, patience, "the replica in "+r.name+" to follow", func(ctx context.Context) error {
		if err := r.readFrom(ctx, primary, replica); err != nil {
			return err
		}
		if err := r.reported(ctx, v1.ReplicaFollowing); err != nil {
			return err
		}
		app, err := e.app(ctx, shop)
		if err != nil {
			return err
		}
		for _, c := range app.Status.Clusters {
			if c.Name == r.name && c.ReplicationLagSeconds != nil {
				return nil
			}
		}
		return fmt.Errorf("%w: the hub has no lag: %+v", errWaiting, app.Status.Clusters)
	})
	id := r.order(t, shop)
	fleettest.Within(t, patience, "the order in the replica in "+r.name, func(ctx context.Context) error {
		out, err := r.inServer(ctx, replica, `ask --dbname="$APP_DATABASE" --command="SELECT id FROM orders"`)
		if err == nil && !slices.Contains(strings.Fields(out), id) {
			err = errWaiting
		}
		return err
	})
}

// readFrom checks that the Service for reading has these pods, and no others, as ready.
func (r *region) readFrom(ctx context.Context, want ...string) error {
	list := &discoveryv1.EndpointSliceList{}
	if err := r.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{discoveryv1.LabelServiceName: shop + "-database"}); err != nil {
		return err
	}
	var found []string
	for _, slice := range list.Items {
		for _, e := range slice.Endpoints {
			if e.TargetRef != nil && e.Conditions.Ready != nil && *e.Conditions.Ready {
				found = append(found, e.TargetRef.Name)
			}
		}
	}
	slices.Sort(found)
	if !slices.Equal(found, want) {
		return fmt.Errorf("%w: read from are %q, want %q", errWaiting, found, want)
	}
	return nil
}

// reported checks the state of the replica in the status of the copy.
func (r *region) reported(ctx context.Context, want v1.ReplicaState) error {
	copied := &v1.EcommerceApp{}
	if err := r.get(ctx, shop, copied); err != nil {
		return err
	}
	for _, each := range copied.Status.DatabaseReplicas {
		if each.Name == replica && each.State == want && (each.LagSeconds != nil) == (want == v1.ReplicaFollowing) {
			return nil
		}
	}
	return fmt.Errorf("%w: the replicas are %+v, want one that is %s", errWaiting, copied.Status.DatabaseReplicas, want)
}

// lose makes the replica need WAL that its primary does not have any more. A receiver that is stopped
// takes at most what fits into the buffers of its connection, which is less than one file of WAL.
func (r *region) lose(t *testing.T) {
	t.Helper()
	run := func(pod, script string, args ...string) string {
		out, err := r.inServer(t.Context(), pod, script, args...)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out)
	}
	receiver := run(replica, `receiver=$(ask --command="SELECT pid FROM pg_stat_wal_receiver"); kill -STOP "$receiver"; echo "$receiver"`)
	position := run(primary, `ask --command="SELECT pg_current_wal_lsn()"`)
	run(primary, `ask --command="ALTER SYSTEM SET wal_keep_size = 0" --command="SELECT pg_reload_conf()"
until [ "$(ask --command="SELECT min(name) > pg_walfile_name('$1') FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$'")" = t ]; do
  for file in 1 2 3 4; do ask --command="SELECT pg_create_restore_point('next')" --command="SELECT pg_switch_wal()"; done
  ask --command=CHECKPOINT
done
ask --command="ALTER SYSTEM RESET wal_keep_size" --command="SELECT pg_reload_conf()"`, position)
	run(replica, `kill -CONT "$1"`, receiver)
}

// inServer runs a script in the container of a PostgreSQL server.
func (r *region) inServer(ctx context.Context, pod, script string, args ...string) (string, error) {
	command := []string{"exec", "--namespace", namespace, pod, "--container=database", "--", "sh", "-euc", askServer + script, "sh"}
	return r.kubectl(ctx, append(command, args...)...)
}

// replaced checks that the replica's pod was replaced to copy the data again, and that an event says so.
func (r *region) replaced(ctx context.Context, former types.UID) error {
	pod := &corev1.Pod{}
	if err := r.get(ctx, replica, pod); err != nil {
		return err
	}
	if pod.UID == former {
		return errWaiting
	}
	events := &corev1.EventList{}
	if err := r.List(ctx, events, client.InNamespace(namespace)); err != nil {
		return err
	}
	if !slices.ContainsFunc(events.Items, func(e corev1.Event) bool { return e.Reason == "ReplicaLost" && strings.Contains(e.Message, replica) }) {
		return fmt.Errorf("%w: no event says that the replica is lost", errWaiting)
	}
	return nil
}

func (r *region) podOf(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	if err := r.get(t.Context(), name, pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

func (r *region) replicaClaim(t *testing.T) *corev1.PersistentVolumeClaim {
	t.Helper()
	claim := &corev1.PersistentVolumeClaim{}
	if err := r.get(t.Context(), "data-"+replica, claim); err != nil {
		t.Fatal(err)
	}
	return claim
}
