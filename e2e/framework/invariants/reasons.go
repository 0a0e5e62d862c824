package invariants

import (
	"encoding/json"
	"fmt"

	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/hub/runbook"
)

// UnknownReasons returns a line for each reason without an entry in the runbook that Shopfleet wrote
// in a status: of a condition, a component or a cluster. Conditions that others wrote are theirs.
func UnknownReasons(l Logs) []string {
	var found []string
	seen, foreign := map[string]bool{}, map[string]bool{}
	for _, r := range l.timeline(func(e audit.Event) bool {
		return e.Subresource == "status" && e.Write() && e.Succeeded() && e.Object != ""
	}) {
		var now reported
		if json.Unmarshal([]byte(r.Object), &now) != nil {
			continue // Statuses reports it.
		}
		if !own(r.Event) {
			for _, c := range now.Status.Conditions {
				foreign[c.Type] = foreign[c.Type] || !known(c.Reason)
			}
			continue
		}
		for _, reason := range now.reasons(foreign) {
			if !seen[reason] && !known(reason) {
				seen[reason] = true
				found = append(found, fmt.Sprintf("%s: %s has no entry in hub/runbook", r, reason))
			}
		}
	}
	return found
}

// reasons returns the reasons of a status, except for conditions of the given types.
func (r reported) reasons(except map[string]bool) []string {
	var all []string
	for _, c := range r.Status.Conditions {
		if !except[c.Type] {
			all = append(all, c.Reason)
		}
	}
	for _, c := range r.Status.Components {
		all = append(all, c.Reason)
	}
	for _, c := range r.Status.Clusters {
		all = append(all, c.Reason)
	}
	return all
}

// known reports whether a reason is empty or has an entry.
func known(reason string) bool {
	_, found := runbook.Lookup(reason)
	return found || reason == ""
}
