package printers

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func now() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func ago(d time.Duration) *metav1.Time { return new(metav1.NewTime(now().Add(-d))) }

// check compares a table with the wanted one, without its first line break.
func check(t *testing.T, got, want string) {
	t.Helper()
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func app(change func(*v1.EcommerceApp)) v1.EcommerceApp {
	a := v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "production", Generation: 2, CreationTimestamp: *ago(5 * time.Minute)},
		Spec:       v1.EcommerceAppSpec{Image: "shop:v1"},
	}
	a.Status = v1.EcommerceAppStatus{
		Phase: v1.PhaseUpdating, Message: "waiting for clusters us-1", Ready: "1/2", ObservedGeneration: 2, ClusterCount: 2, RegionCount: 2,
		Clusters: []v1.ClusterStatus{
			{
				Name: "eu-1", Region: "eu-west-1", Provider: v1.ProviderAWS, Phase: v1.PhaseRunning, Ready: true,
				Reason: v1.ReasonRunning, Replicas: 3, ReadyReplicas: 3, LastObservedTime: ago(time.Minute),
				Components: []v1.ClusterComponentStatus{
					{Name: "database", Phase: v1.PhaseRunning, Ready: true}, {Name: "frontend", Phase: v1.PhaseUpdating},
				},
			},
			{
				Name: "us-1", Region: "us-central1", Provider: v1.ProviderGCP, Phase: v1.PhaseUnknown, Stale: true,
				Reason: v1.ReasonClusterUnreachable, Message: "the cluster does not answer", Replicas: 3, ReadyReplicas: 3,
				LastObservedTime: ago(42 * time.Second),
				Components:       []v1.ClusterComponentStatus{{Name: "database", Phase: v1.PhaseRunning, Ready: true}},
			},
			{Name: "asia-1", Phase: v1.PhasePending, Reason: v1.ReasonWaitingForClusters},
		},
	}
	change(&a)
	return a
}

// appTest holds an application, and the wanted table of its components.
type appTest struct {
	app  v1.EcommerceApp
	want string
}

// checkApps compares the tables of applications with the wanted ones.
func checkApps(t *testing.T, options Options, tests map[string]appTest) {
	t.Helper()
	options.Now = now()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			table := clusters
			if len(test.app.Status.Clusters) == 0 {
				table = components
			}
			check(t, Text(table(&test.app, options), options), test.want)
		})
	}
}

func TestApp(t *testing.T) {
	checkApps(t, Options{}, map[string]appTest{
		"across the fleet, nothing stale is ready": {
			app: app(func(*v1.EcommerceApp) {}),
			want: `
REGION        CLUSTER   COMPONENT   READY   PHASE      AGE
-             asia-1    -           False   Pending    -
eu-west-1     eu-1      database    True    Running    60s
eu-west-1     eu-1      frontend    False   Updating   60s
us-central1   us-1      database    False   Unknown    42s (stale)
`,
		},
		"in one cluster": {
			app: app(func(a *v1.EcommerceApp) {
				a.Status.Clusters = nil
				a.Status.LastUpdated = ago(3 * time.Hour)
				a.Status.Components = []v1.ComponentStatus{
					{Name: "backend", Phase: v1.PhaseCreating, Reason: v1.ReasonWaitingForReplicas, Replicas: 2, ReadyReplicas: 1},
				}
			}),
			want: `
COMPONENT   READY   PHASE      REPLICAS   AGE   REASON
backend     False   Creating   1/2        3h    WaitingForReplicas
`,
		},
		"nothing observed": {app: app(func(a *v1.EcommerceApp) { a.Status = v1.EcommerceAppStatus{} })},
	})
}

func TestAppWide(t *testing.T) {
	checkApps(t, Options{Wide: true}, map[string]appTest{
		"a cluster": {
			app: app(func(a *v1.EcommerceApp) { a.Status.Clusters = a.Status.Clusters[1:2] }),
			want: `
REGION        CLUSTER   COMPONENT   READY   PHASE     AGE           PROVIDER   REPLICAS   ADDRESSES   REASON               MESSAGE
us-central1   us-1      database    False   Unknown   42s (stale)   gcp        3/3        -           ClusterUnreachable   the cluster does not answer
`,
		},
		"a reason is that of one component": {
			app: app(func(a *v1.EcommerceApp) {
				a.Status.Clusters = []v1.ClusterStatus{{
					Name: "eu-1", Region: "eu-west-1", Provider: v1.ProviderAWS, Phase: v1.PhaseRunning, Ready: true, Reason: v1.ReasonLoginNotConfigured,
					Message: "ingress: no user can log in", LastObservedTime: ago(time.Minute), Replicas: 1, ReadyReplicas: 1,
					Components: []v1.ClusterComponentStatus{{Name: "database", Phase: v1.PhaseRunning, Ready: true}, {Name: "ingress", Phase: v1.PhaseRunning, Ready: true}},
				}}
			}),
			want: `
REGION      CLUSTER   COMPONENT   READY   PHASE     AGE   PROVIDER   REPLICAS   ADDRESSES   REASON               MESSAGE
eu-west-1   eu-1      database    True    Running   60s   aws        1/1        -           -                    -
eu-west-1   eu-1      ingress     True    Running   60s   aws        1/1        -           LoginNotConfigured   ingress: no user can log in
`,
		},
		"a reason is that of the cluster": {
			app: app(func(a *v1.EcommerceApp) {
				a.Status.Clusters = []v1.ClusterStatus{{
					Name: "eu-1", Region: "eu-west-1", Provider: v1.ProviderAWS, Phase: v1.PhaseFailed, Reason: v1.ReasonForbidden,
					Message: "deployments: the account may not patch them", LastObservedTime: ago(time.Minute), Replicas: 1, ReadyReplicas: 1,
					Components: []v1.ClusterComponentStatus{{Name: "database", Phase: v1.PhaseRunning, Ready: true}, {Name: "ingress", Phase: v1.PhaseRunning, Ready: true}},
				}}
			}),
			want: `
REGION      CLUSTER   COMPONENT   READY   PHASE     AGE   PROVIDER   REPLICAS   ADDRESSES   REASON      MESSAGE
eu-west-1   eu-1      database    True    Running   60s   aws        1/1        -           Forbidden   deployments: the account may not patch them
eu-west-1   eu-1      ingress     True    Running   60s   aws        1/1        -           -           -
`,
		},
		"with a rollout": {
			app: app(func(a *v1.EcommerceApp) {
				a.Status.Clusters, a.Status.Rollout = a.Status.Clusters[1:2], &v1.RolloutStatus{Revision: 3}
				a.Status.Clusters[0].Revision = 2
			}),
			want: `
REGION        CLUSTER   COMPONENT   READY   PHASE     AGE           REVISION   PROVIDER   REPLICAS   ADDRESSES   REASON               MESSAGE
us-central1   us-1      database    False   Unknown   42s (stale)   2          gcp        3/3        -           ClusterUnreachable   the cluster does not answer
`,
		},
	})
}

func unavailableAndStalled() []metav1.Condition {
	return []metav1.Condition{
		{Type: v1.ConditionAvailable, Status: metav1.ConditionFalse, Reason: v1.ReasonUnavailable},
		{Type: v1.ConditionStalled, Status: metav1.ConditionTrue, Reason: v1.ReasonForbidden},
	}
}

func TestHeadline(t *testing.T) {
	tests := map[string]struct {
		change func(*v1.EcommerceApp)
		want   string
	}{
		"on the hub": {
			change: func(*v1.EcommerceApp) {},
			want:   "production/shop: Updating, 1/2 clusters ready (waiting for clusters us-1)",
		},
		"newer spec": {
			change: func(a *v1.EcommerceApp) { a.Generation = 3; a.Status.Message = "" },
			want:   "production/shop: Updating, 1/2 clusters ready, change not yet observed",
		},
		"not available, and stalled": {
			change: func(a *v1.EcommerceApp) { a.Status.Message, a.Status.Conditions = "", unavailableAndStalled() },
			want:   "production/shop: Updating, 1/2 clusters ready, not available, stalled",
		},
		"ready, and of no use to users": {
			change: func(a *v1.EcommerceApp) {
				a.Status.Phase, a.Status.Ready, a.Status.Message = v1.PhaseRunning, "2/2", ""
				a.Status.Conditions = []metav1.Condition{
					{Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1.ReasonRunning},
					{Type: v1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: v1.ReasonLoginNotConfigured},
				}
			},
			want: "production/shop: Running, 2/2 clusters ready, degraded",
		},
		"created": {
			change: func(a *v1.EcommerceApp) {
				a.Status = v1.EcommerceAppStatus{Phase: v1.PhaseCreating, Conditions: unavailableAndStalled()[:1]}
			},
			want: "production/shop: Creating",
		},
		"in one cluster": {
			change: func(a *v1.EcommerceApp) { a.Status.Clusters, a.Status.Ready, a.Status.Message = nil, "4/5", "" },
			want:   "production/shop: Updating, 4/5 ready",
		},
		"new": {
			change: func(a *v1.EcommerceApp) { a.Status = v1.EcommerceAppStatus{Phase: v1.PhasePending} },
			want:   "production/shop: Pending",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a := app(test.change)
			if got := headline(&a); got != test.want {
				t.Errorf("headline %q, want %q", got, test.want)
			}
		})
	}
}

func TestApps(t *testing.T) {
	apps := []v1.EcommerceApp{app(func(*v1.EcommerceApp) {})}
	check(t, Text(Apps(apps, now()), Options{}), `
NAME   PHASE      READY   CLUSTERS   REGIONS   AGE   MESSAGE
shop   Updating   1/2     2          2         5m    waiting for clusters us-1
`)
	apps[0].Status.LastBackupTime = ago(3 * time.Hour)
	check(t, Text(Apps(apps, now()), Options{Wide: true}), `
NAME   PHASE      READY   CLUSTERS   REGIONS   AGE   MESSAGE                     IMAGE     LAST BACKUP
shop   Updating   1/2     2          2         5m    waiting for clusters us-1   shop:v1   3h
`)
}

func TestRejected(t *testing.T) {
	a := app(func(a *v1.EcommerceApp) {
		a.Status.Placement = &v1.PlacementStatus{Rejected: []v1.RejectedClusters{
			{Reason: v1.ReasonNotSelected, Clusters: 12, Examples: []string{"asia-1", "asia-2", "asia-3"}},
			{Reason: v1.ReasonRegionNotListed, Clusters: 1, Examples: []string{"us-2"}},
		}}
	})
	check(t, Text(rejected(&a), Options{}), `
REJECTED   REASON            EXAMPLES
12         NotSelected       asia-1, asia-2, asia-3, and 9 more
1          RegionNotListed   us-2
`)
	b := app(func(*v1.EcommerceApp) {})
	check(t, Text(rejected(&b), Options{}), "")
}

// TestAppAddresses: the row of the ingress has the addresses.
func TestAppAddresses(t *testing.T) {
	wide := Options{Wide: true, Now: now()}
	shop := app(func(a *v1.EcommerceApp) {
		a.Status.Clusters, a.Status.LastUpdated, a.Status.Addresses = nil, ago(3*time.Hour), []string{"192.0.2.1"}
		a.Status.Components = []v1.ComponentStatus{
			{Name: "frontend", Phase: v1.PhaseRunning, Ready: true, Reason: v1.ReasonRunning, Message: "ready"},
			{Name: "ingress", Phase: v1.PhaseRunning, Ready: true, Reason: v1.ReasonRunning, Message: "ready"},
		}
	})
	check(t, Text(components(&shop, wide), wide), `
COMPONENT   READY   PHASE     REPLICAS   AGE   REASON    ADDRESSES   MESSAGE
frontend    True    Running   0/0        3h    Running   -           ready
ingress     True    Running   0/0        3h    Running   192.0.2.1   ready
`)
	shop = app(func(a *v1.EcommerceApp) {
		a.Status.Clusters = a.Status.Clusters[1:2]
		c := &a.Status.Clusters[0]
		c.Addresses = []string{"192.0.2.1", "lb.example.test"}
		c.Components = []v1.ClusterComponentStatus{{Name: "ingress"}}
	})
	check(t, Text(clusters(&shop, wide), wide), `
REGION        CLUSTER   COMPONENT   READY   PHASE     AGE           PROVIDER   REPLICAS   ADDRESSES                   REASON               MESSAGE
us-central1   us-1      ingress     False   Unknown   42s (stale)   gcp        3/3        192.0.2.1,lb.example.test   ClusterUnreachable   the cluster does not answer
`)
}

// TestAppByRegion: an application is shown by region and cluster, and by component only if the table is wide.
func TestAppByRegion(t *testing.T) {
	a := app(func(a *v1.EcommerceApp) {
		a.Status.Regions = []v1.RegionStatus{
			{Name: "eu-west-1", Phase: v1.PhaseRunning, Clusters: 1, ReadyClusters: 1, Replicas: 3, ReadyReplicas: 3, OldestObservationTime: ago(time.Minute)},
			{Name: "us-central1", Phase: v1.PhaseUnknown, Clusters: 1, Replicas: 3, OldestObservationTime: ago(time.Hour)},
		}
	})
	text := App(&a, Options{Now: now()})
	for _, want := range []string{
		"REGION        CLUSTERS   PHASE     REPLICAS   AGE\neu-west-1     1/1        Running   3/3        60s\nus-central1   0/1        Unknown   0/3        60m\n\n",
		"REGION        CLUSTER   READY   PHASE     REPLICAS   AGE           REASON\n",
		"us-central1   us-1      False   Unknown   3/3        42s (stale)   ClusterUnreachable\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it shows\n%s, want\n%s in it", text, want)
		}
	}
	if strings.Contains(text, "database") {
		t.Errorf("it shows components:\n%s", text)
	}
	if wide := App(&a, Options{Now: now(), Wide: true}); !strings.Contains(wide, "us-1      database") {
		t.Errorf("the wide table has no components:\n%s", wide)
	}
	if one := App(&a, Options{Now: now(), Regions: []string{"eu-west-1"}}); strings.Contains(one, "us-central1") || !strings.Contains(one, "eu-1") {
		t.Errorf("of one region it shows\n%s", one)
	}
}
