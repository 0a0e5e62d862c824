package page_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/hubstate"
)

// now is the time of all golden files.
func now() time.Time { return time.Date(2026, time.November, 29, 3, 0, 0, 0, time.UTC) }

// ago returns the time before now.
func ago(d time.Duration) metav1.Time { return metav1.NewTime(now().Add(-d)) }

func at(d time.Duration) *metav1.Time {
	t := ago(d)
	return &t
}

func condition(kind string, status metav1.ConditionStatus, reason, message string, age time.Duration) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: ago(age)}
}

// member returns a member that answers.
func member(name, region string, provider v1.Provider) *apitest.MemberBuilder {
	return apitest.MemberCluster(name).With(func(m *v1.MemberCluster) {
		m.Spec.Mode = v1.ModeAgentless
		m.Status = v1.MemberClusterStatus{
			Region: region, Provider: provider, ClusterUID: name, KubernetesVersion: "v1.36.3", Nodes: 3, ReadyNodes: 3, Apps: 4,
			LastObservedTime: at(time.Hour), CredentialsExpirationTime: at(-20 * time.Hour),
			Conditions: []metav1.Condition{
				condition(v1.ConditionReady, metav1.ConditionTrue, v1.ReasonConnected, "", 48*time.Hour),
				condition(v1.ConditionConnected, metav1.ConditionTrue, v1.ReasonConnected, "", 48*time.Hour),
			},
		}
	})
}

// lost returns a member that has not answered for three minutes.
func lost(name, region string, provider v1.Provider) *apitest.MemberBuilder {
	const message = "the cluster does not answer: context deadline exceeded"
	return member(name, region, provider).With(func(m *v1.MemberCluster) { m.Status.LastObservedTime = at(3 * time.Minute) }).
		Condition(condition(v1.ConditionReady, metav1.ConditionFalse, v1.ReasonProbeFailed, message, 3*time.Minute)).
		Condition(condition(v1.ConditionConnected, metav1.ConditionFalse, v1.ReasonProbeFailed, message, 3*time.Minute))
}

// entry returns an application that is served in a cluster.
func entry(cluster, region string, provider v1.Provider) v1.ClusterStatus {
	return v1.ClusterStatus{
		Name: cluster, Region: region, Provider: provider, Phase: v1.PhaseRunning, Ready: true, Available: true, Replicas: 3, ReadyReplicas: 3,
		Revision: 7, LastObservedTime: at(25 * time.Minute), Components: []v1.ClusterComponentStatus{{Name: "frontend", Phase: v1.PhaseRunning, Ready: true}},
	}
}

// stale returns the entry of a cluster that does not answer, as the hub writes it.
func stale(e v1.ClusterStatus) v1.ClusterStatus {
	e.Ready, e.Available = false, false
	e.Stale, e.LastObservedTime, e.Phase, e.Reason = true, at(3*time.Minute), v1.PhaseUnknown, v1.ReasonClusterUnreachable
	return e
}

// down returns the entry of a cluster in which customers are not served.
func down(e v1.ClusterStatus) v1.ClusterStatus {
	e.Ready, e.Available, e.ReadyReplicas, e.Phase = false, false, 0, v1.PhaseUpdating
	e.Reason, e.Message = v1.ReasonCrashLoopBackOff, "frontend: the container shop ended 7 times"
	e.Components = []v1.ClusterComponentStatus{{Name: "frontend", Phase: v1.PhaseUpdating}}
	return e
}

// shop returns an application in the namespace production with entries for clusters.
func shop(name string, phase v1.Phase, clusters ...v1.ClusterStatus) *apitest.AppBuilder {
	return apitest.App(name).Namespace("production").With(func(app *v1.EcommerceApp) {
		app.CreationTimestamp, app.Generation, app.UID = ago(240*time.Hour), 3, "uid-"+app.UID
		app.Status = v1.EcommerceAppStatus{
			Phase: phase, ObservedGeneration: 3, Clusters: clusters, Regions: regionsOf(clusters), ClusterCount: int32(len(clusters)),
			Ready: fmt.Sprintf("%d/%d", ready(clusters), len(clusters)), Message: "Application is " + string(phase),
			Conditions: []metav1.Condition{
				condition(v1.ConditionAvailable, metav1.ConditionTrue, v1.ReasonAvailable, "", 48*time.Hour),
				condition(v1.ConditionReady, metav1.ConditionTrue, v1.ReasonRunning, "", 48*time.Hour),
			},
		}
	})
}

func ready(clusters []v1.ClusterStatus) int {
	n := 0
	for _, c := range clusters {
		if c.Ready && !c.Stale {
			n++
		}
	}
	return n
}

// regionsOf returns the regions of clusters as the hub does.
func regionsOf(clusters []v1.ClusterStatus) []v1.RegionStatus {
	var all []v1.RegionStatus
	for _, c := range clusters {
		i := slices.IndexFunc(all, func(r v1.RegionStatus) bool { return r.Name == c.Region })
		if i < 0 {
			all = append(all, v1.RegionStatus{Name: c.Region, Phase: c.Phase})
			i = len(all) - 1
		}
		r := &all[i]
		r.Clusters++
		r.Replicas += c.Replicas
		if c.Ready && !c.Stale {
			r.ReadyClusters++
		}
		if !c.Stale {
			r.ReadyReplicas += c.ReadyReplicas
		}
	}
	return all
}

// with replaces a condition of an application.
func with(app *apitest.AppBuilder, c metav1.Condition) *apitest.AppBuilder {
	return app.With(func(app *v1.EcommerceApp) {
		conditions := &app.Status.Conditions
		*conditions = slices.DeleteFunc(*conditions, func(known metav1.Condition) bool { return known.Type == c.Type })
		*conditions = append(*conditions, c)
	})
}

// read returns sources of which all were read.
func read() []hubstate.Source {
	all := make([]hubstate.Source, 0, len(hubstate.Kinds()))
	for _, kind := range hubstate.Kinds() {
		all = append(all, hubstate.Source{Kind: kind, Read: true})
	}
	return all
}

func hub() hubstate.Hub {
	return hubstate.Hub{Server: "https://hub.example.com:6443", Version: "v1.2.9", Lease: lease(4*time.Second, time.Hour)}
}

// lease returns a Lease that was renewed some time ago, for a time.
func lease(age, lasts time.Duration) hubstate.Lease {
	return hubstate.Lease{Source: hubstate.Source{Kind: "Lease", Read: true}, Renewed: ago(age).Time, Until: ago(age - lasts).Time}
}

// silent returns a fleet whose hub has ended, and one member of which was never seen.
func silent() *hubstate.Snapshot {
	s := calm()
	s.Hub.Lease = lease(5*time.Minute, time.Minute)
	s.Members = append(s.Members, *apitest.MemberCluster("us-2").Obj())
	return s
}

// tenant returns a fleet whose Lease the user may not read.
func tenant() *hubstate.Snapshot {
	s := calm()
	s.Hub.Lease = hubstate.Lease{Source: hubstate.Source{Kind: "Lease", Forbidden: true, Problem: `leases.coordination.k8s.io "shopfleet-hub" is forbidden`}}
	return s
}

// calm returns a fleet in which nothing needs the user.
func calm() *hubstate.Snapshot {
	return &hubstate.Snapshot{
		Hub: hub(), Sources: read(),
		Members: []v1.MemberCluster{*member("eu-1", "eu-west-1", v1.ProviderAWS).Obj(), *member("us-1", "us-central1", v1.ProviderGCP).Obj()},
		Apps: []v1.EcommerceApp{*shop("shop", v1.PhaseRunning,
			entry("eu-1", "eu-west-1", v1.ProviderAWS), entry("us-1", "us-central1", v1.ProviderGCP)).Obj()},
	}
}

// busy returns a fleet with a problem of each kind.
func busy() *hubstate.Snapshot {
	eu1, eu2 := entry("eu-1", "eu-west-1", v1.ProviderAWS), entry("eu-2", "eu-west-1", v1.ProviderAWS)
	us, asia := entry("us-1", "us-central1", v1.ProviderGCP), stale(entry("asia-1", "southeastasia", v1.ProviderAzure))
	unknown := condition(v1.ConditionAvailable, metav1.ConditionUnknown, v1.ReasonClusterUnreachable, "asia-1 does not respond", 170*time.Second)
	starting := v1.ClusterStatus{Name: "eu-2", Region: "eu-west-1", Provider: v1.ProviderAWS, Phase: v1.PhaseCreating, Replicas: 3, LastObservedTime: at(time.Minute)}
	unusable := us
	unusable.DegradedReason, unusable.Message = v1.ReasonLoginNotConfigured, "ingress: no user can log in because the Secret login has no client-id"
	apps := []v1.EcommerceApp{
		*with(shop("login", v1.PhaseRunning, eu1, unusable), condition(v1.ConditionDegraded, metav1.ConditionTrue, v1.ReasonLoginNotConfigured,
			"in us-1: no user can log in because the Secret login has no client-id", 26*time.Hour)).Obj(),
		*with(shop("outlet", v1.PhaseUpdating, down(eu1)), condition(v1.ConditionAvailable, metav1.ConditionFalse, v1.ReasonUnavailable,
			"customers are not served in eu-1: frontend has no available pod", 95*time.Second)).Obj(),
		*with(shop("parcels", v1.PhaseUnknown, eu2, asia), unknown).Obj(),
		*with(shop("shop", v1.PhaseUnknown, eu1, eu2, us, asia), unknown).Obj(),
		*shop("wine", v1.PhasePaused, func() v1.ClusterStatus { e := us; e.Phase = v1.PhasePaused; return e }()).Obj(),
		*with(with(shop("preview", v1.PhaseCreating, starting).Namespace("staging"), condition(v1.ConditionAvailable, metav1.ConditionTrue, v1.ReasonAvailable, "", time.Minute)),
			condition(v1.ConditionBackupReady, metav1.ConditionFalse, v1.ReasonBackupTooOld, "the newest backup of eu-2 is older than 26h", 5*time.Hour)).Obj(),
	}
	return &hubstate.Snapshot{
		Hub: hub(), Sources: read(), Apps: apps,
		Members: []v1.MemberCluster{
			*lost("asia-1", "southeastasia", v1.ProviderAzure).With(func(m *v1.MemberCluster) { m.Status.ResidueCount = 1 }).Obj(),
			*member("eu-1", "eu-west-1", v1.ProviderAWS).Obj(),
			*member("eu-2", "eu-west-1", v1.ProviderAWS).With(func(m *v1.MemberCluster) { m.Status.OrphanCount = 2 }).Obj(),
			*member("us-1", "us-central1", v1.ProviderGCP).
				Condition(condition(v1.ConditionCredentialsRenewed, metav1.ConditionFalse, v1.ReasonExpiring, "the token expires in 20 hours and was not renewed", 2*time.Hour)).Obj(),
		},
	}
}

// forbidden returns what a user of one team sees, whose hub does not answer at the moment either.
func forbidden() *hubstate.Snapshot {
	s := without(hubstate.Members, calm())
	for i := range s.Sources {
		if source := &s.Sources[i]; source.Kind == hubstate.Apps {
			source.Problem, source.Since = "Get \"https://hub.example.com:6443\": connection refused", ago(40*time.Second).Time
		}
	}
	return s
}

// without changes a fleet to what a user sees who may not list a kind.
func without(kind string, s *hubstate.Snapshot) *hubstate.Snapshot {
	for i := range s.Sources {
		if source := &s.Sources[i]; source.Kind == kind {
			resource := strings.ToLower(kind)
			source.Read, source.Forbidden, source.Since = false, true, ago(time.Hour).Time
			source.Problem = fmt.Sprintf("%s.ecommerce.io is forbidden: User \"dev\" cannot list resource %q", resource, resource)
		}
	}
	switch kind {
	case hubstate.Apps:
		s.Apps = nil
	case hubstate.Members:
		s.Members = nil
	case hubstate.Backups:
		s.Backups = nil
	case hubstate.Restores:
		s.Restores = nil
	case hubstate.Accounts:
		s.Accounts = nil
	}
	return s
}
