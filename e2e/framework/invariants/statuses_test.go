package invariants_test

import (
	"cmp"
	"encoding/json"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework/invariants"
)

// status is a written status. The object's generation is 9.
type status struct {
	who, kind, uid, phase string
	version, observed     int
	ready                 metav1.ConditionStatus
	since                 int
	// condition is Ready unless it says otherwise, about the observed generation.
	condition string
	// updated is the number of updated pods of the database.
	updated int
}

// reports returns the log of status writes, one each second.
func reports(t *testing.T, statuses ...status) audit.Log {
	t.Helper()
	var log audit.Log
	for i, s := range statuses {
		if s.kind == "" {
			s.kind = "EcommerceApp"
		}
		if s.version == 0 {
			s.version = 100 + i
		}
		e := event(i, s.who, "patch ecommerceapps/status shop/web")
		raw, err := json.Marshal(map[string]any{
			"kind":     s.kind,
			"metadata": map[string]any{"uid": s.uid, "generation": 9, "resourceVersion": strconv.Itoa(s.version)},
			"status": map[string]any{
				"phase": s.phase, "observedGeneration": s.observed,
				"components": []map[string]any{{"name": "database", "updatedReplicas": s.updated}},
				"conditions": []metav1.Condition{{
					Type: cmp.Or(s.condition, v1.ConditionReady), Status: s.ready, LastTransitionTime: metav1.Unix(int64(s.since), 0), ObservedGeneration: int64(s.observed),
				}},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		e.Object = string(raw)
		log = append(log, e)
	}
	return log
}

func TestStatuses(t *testing.T) {
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	for name, test := range map[string]struct {
		before, after status
		want          int
	}{
		"the same":                       {status{who: hub, observed: 2, ready: yes, since: 5}, status{who: hub, observed: 2, ready: yes, since: 5}, 0},
		"progress":                       {status{who: hub, observed: 2, ready: no, since: 5}, status{who: hub, observed: 3, ready: yes, since: 6}, 0},
		"an older generation":            {status{who: hub, observed: 3}, status{who: hub, observed: 2}, 1},
		"of another object":              {status{who: hub, observed: 3}, status{who: hub, observed: 2, uid: "other"}, 0},
		"after a user's":                 {status{who: user, observed: 3}, status{who: hub, observed: 2}, 0},
		"a user's":                       {status{who: hub, observed: 3}, status{who: user, observed: 2}, 0},
		"after a backup was restored":    {status{who: hub, observed: 3, version: 8}, status{who: hub, observed: 2, version: 7}, 0},
		"a generation to come":           {status{who: hub, observed: 3}, status{who: hub, observed: 10}, 1},
		"a time without a change":        {status{who: hub, ready: yes, since: 5}, status{who: hub, ready: yes, since: 6}, 1},
		"a time of other progress":       {status{who: hub, ready: yes, observed: 1, since: 5, condition: v1.ConditionProgressing}, status{who: hub, ready: yes, observed: 2, since: 6, condition: v1.ConditionProgressing}, 0},
		"a time of the same progress":    {status{who: hub, ready: yes, since: 5, condition: v1.ConditionProgressing}, status{who: hub, ready: yes, since: 6, condition: v1.ConditionProgressing}, 1},
		"a time of more pods":            {status{who: hub, ready: yes, since: 5, condition: v1.ConditionProgressing}, status{who: hub, ready: yes, since: 6, condition: v1.ConditionProgressing, updated: 1}, 0},
		"a time of another generation":   {status{who: hub, ready: yes, observed: 1, since: 5}, status{who: hub, ready: yes, observed: 2, since: 6}, 1},
		"a time that goes back":          {status{who: hub, ready: yes, since: 5}, status{who: hub, ready: no, since: 4}, 1},
		"Running, then Creating":         {status{who: hub, phase: "Running"}, status{who: hub, phase: "Creating"}, 1},
		"Failed, then Creating":          {status{who: hub, phase: "Failed"}, status{who: hub, phase: "Creating"}, 0},
		"Deleting, then Running":         {status{who: hub, phase: "Deleting"}, status{who: hub, phase: "Running"}, 1},
		"Completed, then InProgress":     {status{who: hub, kind: "Backup", phase: "Completed"}, status{who: hub, kind: "Backup", phase: "InProgress"}, 1},
		"Completed, then Deleting":       {status{who: hub, kind: "Backup", phase: "Completed"}, status{who: hub, kind: "Backup", phase: "Deleting"}, 0},
		"a Restore that fails again":     {status{who: hub, kind: "Restore", phase: "Completed"}, status{who: hub, kind: "Restore", phase: "Failed"}, 1},
		"an agent's, as seen by the hub": {status{who: spoke, observed: 3}, status{who: spoke, observed: 2}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			got := invariants.Statuses(invariants.Logs{"eu-1": reports(t, test.before, test.after)})
			if len(got) != test.want {
				t.Errorf("got %q, want %d", got, test.want)
			}
		})
	}
}

// TestStatusesAfterALostResponse checks that what was stored without a response is not in the log.
func TestStatusesAfterALostResponse(t *testing.T) {
	for code, want := range map[int]int{0: 0, 200: 0, 409: 1, 499: 0, 504: 0} {
		log := reports(t, status{who: hub, observed: 3}, status{who: hub}, status{who: hub, observed: 2})
		log[1].Code, log[1].Object = code, ""
		if got := invariants.Statuses(invariants.Logs{"hub": log}); len(got) != want {
			t.Errorf("after %d: got %q, want %d", code, got, want)
		}
	}
}

func TestOverlaps(t *testing.T) {
	by := func(agent, credential string, seconds ...int) audit.Log {
		var log audit.Log
		for _, s := range seconds {
			e := event(s, hub, "patch ecommerceapps shop/web")
			e.UserAgent, e.Credential = agent, credential
			log = append(log, e)
		}
		return log
	}
	join := func(logs ...audit.Log) (all audit.Log) {
		for _, log := range logs {
			all = append(all, log...)
		}
		return all
	}
	const here, member = "shopfleet-hub/v1", "shopfleet-hub"
	for name, test := range map[string]struct {
		log  audit.Log
		want int
	}{
		"one":               {by(here, "a", 1, 2, 3), 0},
		"one after another": {join(by(here, "a", 1, 2), by(here, "b", 3, 4), by(here, "c", 5)), 0},
		"a former leader":   {join(by(here, "a", 1, 2, 5), by(here, "b", 3, 4)), 1},
		"another program":   {join(by("former", "a", 1, 4), by(here, "a", 3)), 1},
		"renewed in a member, with a request under way": {join(by(member, "a", 1, 3), by(member, "b", 2, 4)), 0},
		"in a member": {join(by(member, "a", 1, 3), by("former", "a", 2, 4)), 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := invariants.Overlaps(invariants.Logs{"eu-1": test.log}); len(got) != test.want {
				t.Errorf("got %q, want %d", got, test.want)
			}
		})
	}
	late := by(here, "a", 5)
	late[0].Code = 409
	if got := invariants.Overlaps(invariants.Logs{"hub": join(by(here, "a", 1), by(here, "b", 2), late)}); len(got) != 0 {
		t.Errorf("a write that failed counts: %q", got)
	}
}
