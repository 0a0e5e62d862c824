package invariants

import (
	"fmt"

	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/hub/members/connect/kubeconfig"
)

// writer is a process of Shopfleet, as far as an API server can tell.
type writer struct{ agent, credential string }

// Overlaps returns a line for each write by a process after another process with its account
// has written since: the terms of two leaders overlap. Processes differ in their tokens or user
// agents. In members all hubs have the same token, so that only a user agent of its own
// distinguishes one there.
func Overlaps(l Logs) []string {
	var found []string
	former, present := map[string]map[writer]bool{}, map[string]writer{}
	for _, r := range l.timeline(func(e audit.Event) bool {
		return own(e) && e.Write() && e.Succeeded() && e.Resource != "events" && e.Resource != "leases"
	}) {
		account := r.cluster + "/" + r.User
		w := writer{r.UserAgent, r.Credential}
		if w.agent == kubeconfig.UserAgent { // It may renew its token.
			w.credential = ""
		}
		switch leader, known := present[account]; {
		case !known:
			former[account] = map[writer]bool{}
		case leader == w:
			continue
		case former[account][w]:
			found = append(found, fmt.Sprintf("%s with %s %s, after %s %s", r, w.agent, w.credential, leader.agent, leader.credential))
			continue
		default:
			former[account][leader] = true
		}
		present[account] = w
	}
	return found
}
