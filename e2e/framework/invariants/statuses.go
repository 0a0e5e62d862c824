package invariants

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
)

// statusClientClosedRequest is the lowest status of requests that ended without a decision.
const statusClientClosedRequest = 499

// reported is an object of Shopfleet, as far as this package knows it.
type reported struct {
	Kind     string            `json:"kind"`
	Metadata metav1.ObjectMeta `json:"metadata"`
	Status   struct {
		Phase              string             `json:"phase"`
		ObservedGeneration int64              `json:"observedGeneration"`
		Conditions         []metav1.Condition `json:"conditions"`
		pods
		Components []struct {
			Name   string `json:"name"`
			Reason string `json:"reason"`
			pods
		} `json:"components"`
		Clusters []struct {
			Reason string `json:"reason"`
		} `json:"clusters"`
	} `json:"status"`
}

// pods counts the pods of a component, or of a database of its own.
type pods struct {
	Ready   int32 `json:"readyReplicas"`
	Updated int32 `json:"updatedReplicas"`
}

func (p pods) more(before pods) bool { return p.Ready > before.Ready || p.Updated > before.Updated }

// Statuses returns a line for each status written by Shopfleet whose observed generation is
// lower than before or higher than the generation, whose phase must not follow the one before,
// or in which the transition time of a condition changed without its status, or backwards. It
// compares with the write before, unless that was a user's, or the API server was restored
// from a backup since, or a request ended without a response. The time of Progressing is that
// of the progress that it is about.
func Statuses(l Logs) []string {
	var found []string
	last := map[string]reported{}
	for _, r := range l.timeline(func(e audit.Event) bool { return e.Subresource == "status" && e.Write() }) {
		id := strings.Join([]string{r.cluster, r.Resource, r.Namespace, r.Name}, "/")
		if undecided(r.Event) {
			delete(last, id)
		}
		if !r.Succeeded() || r.Object == "" {
			continue
		}
		var now reported
		if err := json.Unmarshal([]byte(r.Object), &now); err != nil {
			found = append(found, fmt.Sprintf("%s: unreadable: %v", r, err))
			continue
		}
		before, known := last[id]
		known = known && before.Metadata.UID == now.Metadata.UID
		last[id] = now
		if !own(r.Event) {
			delete(last, id)
			continue
		}
		if now.Status.ObservedGeneration > now.Metadata.Generation {
			found = append(found, fmt.Sprintf("%s: observed generation %d of %d", r, now.Status.ObservedGeneration, now.Metadata.Generation))
		}
		if known && version(before) < version(now) {
			for _, violation := range regressions(before, now) {
				found = append(found, fmt.Sprintf("%s: %s", r, violation))
			}
		}
	}
	return found
}

// undecided reports whether a request ended without a response: it may have been stored.
func undecided(e audit.Event) bool {
	if e.Succeeded() {
		return e.Object == "" // The client left before the response.
	}
	return e.Code < http.StatusBadRequest || e.Code >= statusClientClosedRequest
}

// version returns the resource version of an object as the number that it is.
func version(o reported) uint64 {
	n, err := strconv.ParseUint(o.Metadata.ResourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// regressions returns what is wrong in a status after the one before.
func regressions(before, now reported) []string {
	var found []string
	if now.Status.ObservedGeneration < before.Status.ObservedGeneration {
		found = append(found, fmt.Sprintf("observed generation %d after %d", now.Status.ObservedGeneration, before.Status.ObservedGeneration))
	}
	if from, to := before.Status.Phase, now.Status.Phase; from != "" && from != to {
		if allowed, restricted := transitions()[now.Kind][from]; restricted && !slices.Contains(allowed, to) {
			found = append(found, fmt.Sprintf("phase %q after %s", to, from))
		}
	}
	for _, c := range now.Status.Conditions {
		i := slices.IndexFunc(before.Status.Conditions, func(o metav1.Condition) bool { return o.Type == c.Type })
		if i < 0 {
			continue
		}
		was := before.Status.Conditions[i]
		switch moved := c.LastTransitionTime.Compare(was.LastTransitionTime.Time); {
		case moved < 0:
			found = append(found, fmt.Sprintf("transition time of %s moved back from %s to %s", c.Type, was.LastTransitionTime, c.LastTransitionTime))
		case moved > 0 && c.Status == was.Status && !restarts(before, now, c.Type):
			found = append(found, fmt.Sprintf("transition time of %s moved from %s to %s while it stayed %s", c.Type, was.LastTransitionTime, c.LastTransitionTime, c.Status))
		}
	}
	return found
}

// restarts reports whether a condition has another transition time because it is about other
// progress, whose deadline it begins: towards another generation, of another component, of more
// pods, or after data were copied.
func restarts(before, now reported, condition string) bool {
	if condition != v1.ConditionProgressing {
		return false
	}
	was, is := meta.FindStatusCondition(before.Status.Conditions, condition), meta.FindStatusCondition(now.Status.Conditions, condition)
	return was.ObservedGeneration != is.ObservedGeneration || waitedFor(before) != waitedFor(now) ||
		progressed(before, now) || copies(before) && !copies(now)
}

// progressed reports whether more pods are ready or updated than before.
func progressed(before, now reported) bool {
	if now.Status.more(before.Status.pods) {
		return true
	}
	for _, c := range now.Status.Components {
		for _, was := range before.Status.Components {
			if was.Name == c.Name && c.more(was.pods) {
				return true
			}
		}
	}
	return false
}

// copies reports whether a database waits for a copy of its primary's data.
func copies(o reported) bool {
	ready := meta.FindStatusCondition(o.Status.Conditions, v1.ConditionReady)
	return ready != nil && ready.Reason == v1.ReasonCopyingData
}

// waitedFor returns the component that keeps an application from being ready.
func waitedFor(o reported) string {
	ready := meta.FindStatusCondition(o.Status.Conditions, v1.ConditionReady)
	if ready == nil {
		return ""
	}
	name, _, _ := strings.Cut(ready.Message, ": ")
	return name
}

// transitions returns the phases that may follow a phase, by kind. A phase without an entry
// may be followed by any: it describes the present, and not progress.
func transitions() map[string]map[string][]string {
	// What was ready once is updated, and is never created again.
	afterFirst := names(v1.PhasePending, v1.PhaseRunning, v1.PhaseUpdating, v1.PhaseScaling, v1.PhaseFailed, v1.PhasePaused, v1.PhaseUnknown, v1.PhaseDeleting)
	workload := map[string][]string{
		string(v1.PhaseRunning): afterFirst, string(v1.PhaseUpdating): afterFirst, string(v1.PhaseScaling): afterFirst,
		string(v1.PhaseDeleting): {},
	}
	return map[string]map[string][]string{
		"EcommerceApp": workload, "WebApp": workload, "MySQLCluster": workload,
		"Backup": {
			string(v1.BackupInProgress): names(v1.BackupFinalizing, v1.BackupCompleted, v1.BackupPartiallyCompleted, v1.BackupFailed, v1.BackupDeleting),
			string(v1.BackupFinalizing): names(v1.BackupCompleted, v1.BackupPartiallyCompleted, v1.BackupFailed, v1.BackupDeleting),
			string(v1.BackupCompleted):  names(v1.BackupDeleting),
			// Its dump may be removed from its claim early.
			string(v1.BackupPartiallyCompleted): names(v1.BackupFailed, v1.BackupDeleting),
			string(v1.BackupFailed):             names(v1.BackupDeleting),
			string(v1.BackupDeleting):           {},
		},
		"Restore": {
			string(v1.RestoreInProgress): names(v1.RestoreStarting, v1.RestoreCleaningUp, v1.RestoreCompleted, v1.RestoreFailed),
			string(v1.RestoreStarting):   names(v1.RestoreCleaningUp, v1.RestoreCompleted, v1.RestoreFailed),
			string(v1.RestoreCleaningUp): names(v1.RestoreCompleted, v1.RestoreFailed),
			// A user may have put back what it replaced: the database starts once more.
			string(v1.RestoreCompleted): names(v1.RestoreStarting),
			string(v1.RestoreFailed):    {},
		},
	}
}

func names[P ~string](phases ...P) []string {
	all := make([]string, 0, len(phases))
	for _, p := range phases {
		all = append(all, string(p))
	}
	return all
}
