package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/duration"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/doctor"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/hubstate"
	"github.com/shopfleet/shopfleet/hub/app/placement"
	"github.com/shopfleet/shopfleet/hub/runbook"
)

// Why is the answer to: why is it not there, or different there?
type Why struct {
	Notices []Notice
	Query   Query
	// AppsKnown and MembersKnown are set if the EcommerceApps and the MemberClusters are known. Without the latter nothing is
	// decided.
	AppsKnown, MembersKnown bool
	// Shops has the application that the query names, if it exists; or all, at most 100, if the query is for all in one page.
	Shops []Explanation
	// Choices are the applications to choose from, by name.
	Choices []Choice
	// Total counts the applications that match the query.
	Total   int
	Members []MemberFacts
}

// Explanation is why an application is where it is. Problem says why its placement is not as the spec says.
type Explanation struct {
	App      string
	Problem  string
	Observed bool
	Clusters []Reasoning
	// Changes are writes that a pause holds back, and MoreChanges how many are not listed.
	Changes     []v1.PendingChange
	MoreChanges int
}

// Choice is an application to choose.
type Choice struct{ Name, Summary string }

// Reasoning is why a cluster runs an application, or does not, and what is different there.
type Reasoning struct {
	Cluster, Region, Decision, Reason, Message string
	// Overrides are the numbers of the overrides of the spec that apply there, from 1.
	Overrides string
	// Different says how the cluster differs from what the spec asks for now.
	Different string
}

// MemberFacts holds the facts of a member that placements and skew depend on.
type MemberFacts struct {
	Name, Region, Provider, Mode, Scheduling, Kubernetes, Agent string
	// State is Ready, or the reason why it is not.
	State string
	Ready bool
	// Seen is the age of what is known of it; empty while the hub watches it, and if it was never seen. Contact says which.
	Seen, Contact string
	Credentials   string
	Expiring      bool
	// FreeCPU and FreeMemory are parts of what is allocatable; empty if they are not known.
	FreeCPU, FreeMemory string
	Apps                int32
}

// maxChoices bounds the applications to choose from, and those that are explained in one page.
const maxChoices = 100

// WhyOf returns why the application of a query is in clusters, and what is known of members.
func WhyOf(s *hubstate.Snapshot, now time.Time, q Query) Why {
	w := Why{
		Notices: NoticesOf(s, now, hubstate.Apps, hubstate.Members), Query: q,
		AppsKnown: s.Knows(hubstate.Apps), MembersKnown: s.Knows(hubstate.Members),
	}
	for i := range s.Members {
		w.Members = append(w.Members, factsOf(&s.Members[i], &s.Hub, now))
	}
	for i := range s.Apps {
		app := &s.Apps[i]
		if nameOf(app) == q.App || q.Whole && len(w.Shops) < maxChoices {
			w.Shops = append(w.Shops, explain(app, s, now))
		}
		if !q.matches(nameOf(app)) {
			continue
		}
		w.Total++
		if len(w.Choices) < maxChoices {
			w.Choices = append(w.Choices, Choice{nameOf(app), summaryOf(app)})
		}
	}
	return w
}

// summaryOf says in how many clusters an application is, and which it is not in.
func summaryOf(app *v1.EcommerceApp) string {
	parts := []string{"in " + counted(int(app.Status.ClusterCount), "cluster", "clusters")}
	if app.Status.Placement != nil {
		for _, r := range app.Status.Placement.Rejected {
			parts = append(parts, fmt.Sprintf("%d %s", r.Clusters, r.Reason))
		}
	}
	return strings.Join(parts, ", ")
}

// explain decides the placement of an application as the hub does, and compares clusters with the spec. Without members it
// decides nothing: a placement over none would reject the clusters that the application runs in.
func explain(app *v1.EcommerceApp, s *hubstate.Snapshot, now time.Time) Explanation {
	w := Explanation{App: nameOf(app), Observed: app.Status.ObservedGeneration >= app.Generation, Changes: app.Status.PendingChanges}
	w.MoreChanges = max(0, int(app.Status.PendingChangeCount)-len(w.Changes))
	if !s.Knows(hubstate.Members) {
		for i := range app.Status.Clusters {
			c := &app.Status.Clusters[i]
			w.Clusters = append(w.Clusters, Reasoning{Cluster: c.Name, Region: regionOf(c.Region), Decision: notKnown, Overrides: notKnown,
				Message: "it is there, and the reason depends on MemberClusters", Different: differenceIn(app, c.Name)})
		}
		return w
	}
	clusters := make([]placement.Cluster, 0, len(s.Members))
	byName := map[string]*placement.Cluster{}
	for i := range s.Members {
		clusters = append(clusters, placement.ClusterOf(&s.Members[i], now))
	}
	for i := range clusters {
		byName[clusters[i].Name] = &clusters[i]
	}
	request := placement.RequestOf(app, clusters, now)
	decision, err := placement.Decide(request)
	if err != nil {
		w.Problem = err.Error()
		return w
	}
	w.Problem = cmp.Or(decision.Unmet, decision.Unmatched)
	for _, r := range decision.Results(request) {
		next := Reasoning{Cluster: r.Cluster, Decision: string(r.Decision), Reason: r.Reason, Message: r.Message}
		if entry, known := runbook.Lookup(r.Reason); next.Message == "" && known {
			next.Message = entry.Meaning
		}
		if c := byName[r.Cluster]; c != nil {
			next.Region = regionOf(c.Region)
			next.Overrides = overridesIn(app, c)
		}
		next.Different = differenceIn(app, r.Cluster)
		w.Clusters = append(w.Clusters, next)
	}
	return w
}

// overridesIn returns the numbers of the overrides that apply in a cluster.
func overridesIn(app *v1.EcommerceApp, c *placement.Cluster) string {
	var numbers []string
	for i := range app.Spec.Overrides {
		if applies, err := placement.Matches(&app.Spec.Overrides[i].Selector, c); err == nil && applies {
			numbers = append(numbers, fmt.Sprint(i+1))
		}
	}
	return strings.Join(numbers, ", ")
}

// differenceIn says how a cluster differs from what the spec asks for now.
func differenceIn(app *v1.EcommerceApp, cluster string) string {
	c := app.Status.EntryOf(cluster)
	if c == nil {
		return ""
	}
	var parts []string
	if r := app.Status.Rollout; r != nil && c.Revision != 0 && c.Revision != r.Revision {
		parts = append(parts, fmt.Sprintf("has revision %d, the spec is %d", c.Revision, r.Revision))
	}
	if c.Stale {
		parts = append(parts, "does not answer")
	} else if c.AppliedGeneration != 0 && c.AppliedGeneration < app.Generation && app.Status.Rollout == nil {
		parts = append(parts, fmt.Sprintf("has generation %d of %d", c.AppliedGeneration, app.Generation))
	}
	if c.HeldTemplates {
		parts = append(parts, "has pods of an earlier version of the templates")
	}
	if c.PendingChangeCount > 0 {
		parts = append(parts, counted(int(c.PendingChangeCount), "write is held back", "writes are held back")+" by a pause")
	}
	if c.Share != nil {
		parts = append(parts, "has a share of the replicas")
	}
	return strings.Join(parts, "; ")
}

// factsOf returns what is known of a member of a hub.
func factsOf(m *v1.MemberCluster, hub *hubstate.Hub, now time.Time) MemberFacts {
	facts := MemberFacts{
		Name: m.Name, Region: memberRegion(m), Provider: string(cmp.Or(m.Status.Provider, m.Spec.Provider)),
		Mode: string(cmp.Or(m.Spec.Mode, v1.ModeAgentless)), Scheduling: string(cmp.Or(m.Spec.Scheduling, v1.SchedulingEnabled)),
		Kubernetes: m.Status.KubernetesVersion, State: v1.ReasonNotChecked, Apps: m.Status.Apps,
		FreeCPU: freeOf(m, v1.ResourceCPU), FreeMemory: freeOf(m, v1.ResourceMemory),
	}
	if ready := meta.FindStatusCondition(m.Status.Conditions, v1.ConditionReady); ready != nil {
		facts.State, facts.Ready = ready.Reason, ready.Status == "True"
	}
	switch seen := ageAt(now, m.Status.LastObservedTime); {
	case !isConnected(m) && seen == "":
		facts.Contact = "never"
	case !isConnected(m):
		facts.Seen = seen
	case hub.Lease.IsRenewed(now):
		facts.Contact = "watched"
	default:
		facts.Contact = notKnown
	}
	if m.Spec.Mode == v1.ModeAgent {
		facts.Agent = cmp.Or(m.Status.AgentVersion, "unknown")
		if skew := doctor.Skew(m.Status.AgentVersion, hub.Version); skew != doctor.SkewSupported {
			facts.Agent += ", skew " + strings.ToLower(skew)
		}
	}
	if at := m.Status.CredentialsExpirationTime; at != nil {
		facts.Credentials = "expire in " + duration.HumanDuration(at.Sub(now))
		if at.Time.Before(now) {
			facts.Credentials = "expired " + ageOf(now, at.Time) + " ago"
		}
		facts.Expiring = meta.IsStatusConditionFalse(m.Status.Conditions, v1.ConditionCredentialsRenewed)
	}
	return facts
}

// freeOf returns how much of a resource is free in a member, in percent, or an empty string if it is not known.
func freeOf(m *v1.MemberCluster, name v1.ResourceName) string {
	all, known := m.Status.Allocatable[name]
	used, listed := m.Status.Requested[name]
	if !known || !listed || all.IsZero() {
		return ""
	}
	free := 100 * (1 - used.AsApproximateFloat64()/all.AsApproximateFloat64())
	return fmt.Sprintf("%.0f %%", max(0, free))
}
