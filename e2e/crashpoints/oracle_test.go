package crashpoints_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// history holds the changes of a workload that are in the audit logs.
type history struct {
	// created counts how often the hub created an object.
	created map[string]int
	// deleted has the objects that were deleted, by the hub or by controllers of Kubernetes.
	deleted map[string]bool
	// uncertain has the objects of requests that ended without an answer, as those of a process
	// that loses its Lease do: they may be committed.
	uncertain map[string]bool
}

// outcome holds the result of a point.
type outcome struct {
	loss
	// reached tells that the hub wrote there.
	reached bool
}

// loss holds the objects of a run that are not as those of the reference. All are empty in a
// product that survives its crashes.
type loss struct {
	// lost are missing or different, orphaned are left behind.
	lost, orphaned []string
	// duplicated were created more often, destroyed were deleted without being asked for.
	duplicated, destroyed []string
}

// none reports whether nothing is wrong.
func (l loss) none() bool {
	return len(l.lost)+len(l.orphaned)+len(l.duplicated)+len(l.destroyed) == 0
}

// history returns what happened in the namespace of the run since a mark.
func (r *run) history(t *testing.T, m framework.Marks) history {
	t.Helper()
	h := history{created: map[string]int{}, deleted: map[string]bool{}, uncertain: map[string]bool{}}
	for _, c := range r.Fleet.Clusters() {
		all := m.Since(t, c).Writes().Where(r.concerns)
		for _, e := range all {
			if e.Code == 0 || e.Code >= http.StatusInternalServerError {
				h.uncertain[r.object(c.Name(), e)] = true
			}
		}
		log := all.Succeeded()
		for _, e := range log.Deletes().Except("pods", "replicasets", "controllerrevisions", "endpointslices", "endpoints") {
			h.deleted[r.object(c.Name(), e)] = true
		}
		for _, e := range log.ByServiceAccount(config.Namespace, config.HubServiceAccount) {
			// An apply answers with 201 if it created the object.
			if e.Verb == "create" || e.Code == http.StatusCreated {
				h.created[r.object(c.Name(), e)]++
			}
		}
	}
	if r.database {
		for _, m := range r.aws.of(r.app.Namespace) {
			h.created[m.String()]++
		}
	}
	return h
}

// concerns reports whether a request is about the run. Events are records of it.
func (r *run) concerns(e audit.Event) bool {
	if e.Resource == "events" || e.Resource == "leases" {
		return false
	}
	if e.Namespace == r.app.Namespace || e.Resource == "namespaces" && e.Name == r.app.Namespace {
		return true
	}
	return r.fleetwide && (e.Namespace == config.Namespace || e.Resource == "memberclusters" || e.Resource == "customresourcedefinitions")
}

func (r *run) object(cluster string, e audit.Event) string {
	return fmt.Sprintf("%s %s %s", cluster, e.Resource, maskedName(strings.ReplaceAll(e.Name, r.app.Namespace, "NAMESPACE")))
}

// writes returns the writes of the hub about the run since a mark.
func (r *run) writes(t *testing.T, m framework.Marks) audit.Log {
	t.Helper()
	var found audit.Log
	for _, c := range r.Fleet.Clusters() {
		found = append(found, m.By(t, c, config.HubServiceAccount).Writes().Where(r.concerns)...)
	}
	return found
}

// withoutSums returns some of the writes without those that only bring what pods in a member request up to
// date, as the hub does when it has listed them again. Before all writes the members had the statuses last.
func (r *run) withoutSums(last map[string]any, all, some audit.Log) audit.Log {
	sums := map[string]bool{}
	for _, e := range all {
		if e.Resource != "memberclusters" || e.Subresource != "status" || !e.Succeeded() {
			continue
		}
		status := r.maskedStatus([]byte(e.Object))
		sums[e.ID] = status != nil && cmp.Equal(status, last[e.Name])
		last[e.Name] = status
	}
	return some.Where(func(e audit.Event) bool { return !sums[e.ID] })
}

// memberStatuses returns the statuses of members by their names, as withoutSums compares them.
func (r *run) memberStatuses(t *testing.T) map[string]any {
	t.Helper()
	members := &v1.MemberClusterList{}
	if err := r.Hub.List(t.Context(), members); err != nil {
		t.Fatal(err)
	}
	found := map[string]any{}
	for _, m := range members.Items {
		object, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		found[m.Name] = r.maskedStatus(object)
	}
	return found
}

// maskedStatus returns the status of an object in JSON, masked; nil if it is none.
func (r *run) maskedStatus(object []byte) any {
	var found struct {
		Status map[string]any `json:"status"`
	}
	if json.Unmarshal(object, &found) != nil || found.Status == nil {
		return nil
	}
	return masked(found.Status, r.app.Namespace)
}

// compareStates adds the objects that are not as in the reference.
func (l *loss) compareStates(want, got state) {
	for _, name := range want.names() {
		if !cmp.Equal(want[name], got[name]) {
			l.lost = append(l.lost, name)
		}
	}
	for _, name := range got.names() {
		if want[name] == nil {
			l.orphaned = append(l.orphaned, name)
		}
	}
}

// difference returns how the first object that is lost differs, which explains most of the others.
func (l *loss) difference(want, got state) string {
	if len(l.lost) == 0 {
		return ""
	}
	return cmp.Diff(want[l.lost[0]], got[l.lost[0]])
}

// compareHistories adds the objects that were created or deleted more often than in the
// reference.
func (l *loss) compareHistories(want, got history) {
	for _, name := range slices.Sorted(maps.Keys(got.created)) {
		allowed := want.created[name]
		if want.uncertain[name] {
			allowed++
		}
		if got.created[name] > allowed {
			l.duplicated = append(l.duplicated, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got.deleted)) {
		if !want.deleted[name] && !want.uncertain[name] {
			l.destroyed = append(l.destroyed, name)
		}
	}
}
