package copies

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// overridden returns an application with an override for the tier gold, and a patch for it that fails.
func overridden(patch ...v1.JSONPatch) *v1.EcommerceApp {
	return &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "shop", UID: "u-1", Generation: 7},
		Spec: v1.EcommerceAppSpec{Image: "shop:v1", Database: &v1.Database{Engine: v1.EnginePostgreSQL, Version: "17.2", Storage: "100Gi"}, Overrides: []v1.Override{{
			Selector: v1.ClusterCriteria{ClusterSelector: &v1.ClusterLabelSelector{MatchLabels: map[string]string{"tier": "gold"}}},
			Image:    "shop:v2", Database: v1.DatabaseOverride{StorageProfile: v1.StorageFast}, JSONPatches: patch,
		}}},
	}
}

func in(name, tier string) memberFacts {
	member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"tier": tier}}}
	member.Status.Provider, member.Status.Capabilities = v1.ProviderAWS, []string{csi.CapabilityDriver + csi.DriverEBS}
	return memberFacts{cluster: name, provider: v1.ProviderAWS, managedBy: v1.ManagedByHub, member: member}
}

// TestCopyForOverrides checks that a copy has the overrides that select its member, before its storage class is
// chosen.
func TestCopyForOverrides(t *testing.T) {
	t.Parallel()
	app := overridden()
	gold, silver := made(t, app, in("eu-1", "gold")), made(t, app, in("us-1", "silver"))
	if gold.Spec.Image != "shop:v2" || silver.Spec.Image != "shop:v1" {
		t.Errorf("images %s and %s", gold.Spec.Image, silver.Spec.Image)
	}
	if len(gold.Spec.Overrides)+len(silver.Spec.Overrides) > 0 {
		t.Error("a copy has overrides")
	}
	fast, standard := gold.Spec.Database.StorageClassName, silver.Spec.Database.StorageClassName
	if fast == nil || !strings.Contains(*fast, "fast") || standard != nil && *standard == *fast {
		t.Errorf("classes %v and %v, want that of the profile Fast in one", fast, standard)
	}
}

// TestShare checks that a copy has the cluster's share of the replicas, unless an override says otherwise.
func TestShare(t *testing.T) {
	t.Parallel()
	app := overridden()
	app.Spec.Frontend.Replicas, app.Spec.Backend.Replicas = new(int32(9)), new(int32(4))
	app.Status.Clusters = []v1.ClusterStatus{{Name: "eu-1", Share: &v1.ReplicaShare{Frontend: new(int32(6))}}, {Name: "us-1"}}
	app.Spec.Overrides = nil
	for cluster, want := range map[string][2]int32{"eu-1": {6, 4}, "us-1": {9, 4}} {
		spec := made(t, app, in(cluster, "silver")).Spec
		if got := [2]int32{*spec.Frontend.Replicas, *spec.Backend.Replicas}; got != want {
			t.Errorf("%s: replicas %v, want %v", cluster, got, want)
		}
	}
	app.Spec.Overrides = []v1.Override{{Frontend: v1.WorkloadOverride{Replicas: new(int32(7))}}}
	if got := *made(t, app, in("eu-1", "silver")).Spec.Frontend.Replicas; got != 7 {
		t.Errorf("with an override %d replicas, want 7", got)
	}
	if *app.Spec.Frontend.Replicas != 9 {
		t.Error("the application was changed")
	}
	app.Spec.Replicas, app.Spec.Frontend.Replicas, app.Spec.Overrides = new(int32(9)), nil, nil
	for _, want := range []int32{6, 5} {
		spec := made(t, app, in("eu-1", "silver")).Spec
		if spec.Frontend.Replicas != nil || *spec.Replicas != want {
			t.Errorf("replicas %d, and of the frontend %v; want %d alone", *spec.Replicas, spec.Frontend.Replicas, want)
		}
		app.Spec.Overrides = []v1.Override{{Replicas: new(int32(5))}}
	}
}

// TestBadOverride checks that an override that cannot be applied fails in the clusters that it selects.
func TestBadOverride(t *testing.T) {
	t.Parallel()
	app := overridden(v1.JSONPatch{Op: "remove", Path: "/none"})
	made(t, app, in("us-1", "silver"))
	_, err := copyOf(app, in("eu-1", "gold"), nil)
	refused, is := errors.AsType[*apierror.SpecError](err)
	if !is || refused.Reason != v1.ReasonInvalidSpec || !strings.Contains(err.Error(), "spec.overrides[0].jsonPatches[0]") {
		t.Errorf("error %v, want that of the patch", err)
	}
}

// TestOverridesKeepCopies checks that an edit of overrides writes only the copies that it changes.
func TestOverridesKeepCopies(t *testing.T) {
	t.Parallel()
	before := overridden()
	after := before.DeepCopy()
	after.Generation++
	after.Spec.Overrides[0].Image = "shop:v3"
	for tier, kept := range map[string]bool{"gold": false, "silver": true} {
		facts := in("eu-1", tier)
		got, err := asWritten(made(t, after, facts), stamped(t, made(t, before, facts)), true)
		if err != nil {
			t.Fatal(err)
		}
		if is := got.Annotations[v1.HubGenerationAnnotation] == "7"; is != kept {
			t.Errorf("in %s the copy stays as it was: %t, want %t", tier, is, kept)
		}
	}
}

// testLeaveCopy checks that a copy whose overrides cannot be applied keeps its spec, and is paused and handed over
// all the same.
func testLeaveCopy(t *testing.T, m *member) {
	t.Helper()
	m.reconcile(t)
	m.cached = m.live(t)
	m.app.Generation++
	m.app.Spec.Image, m.app.Spec.Overrides = "shop:v2", []v1.Override{{JSONPatches: []v1.JSONPatch{{Op: "remove", Path: "/none"}}}}
	m.queue.managedBy = v1.ManagedByAgent
	m.reconcile(t)
	m.cached = m.live(t)
	m.app.Spec.Paused = true
	m.reconcile(t)
	live := m.live(t)
	if live.Spec.Image != "shop:v1" || live.ManagedByMode() != v1.ManagedByAgent || !live.Spec.Paused {
		t.Errorf("image %s, managed by %s, paused %t", live.Spec.Image, live.ManagedByMode(), live.Spec.Paused)
	}
	found, _ := m.queue.memory.Result(keyOf(m.app), m.app.UID)
	if found.Failure == nil || found.Failure.Reason != v1.ReasonInvalidSpec || !strings.Contains(found.Failure.Message, "spec.overrides[0].jsonPatches[0]") {
		t.Errorf("reported %+v, want what is wrong with the override", found.Failure)
	}
}

// testUnobserved checks that overrides and databases wait for what is about to be observed of a member.
func testUnobserved(t *testing.T, m *member) {
	t.Helper()
	m.uid = ""
	plain := m.app.Spec.DeepCopy()
	for name, change := range map[string]func(*v1.EcommerceAppSpec){
		"overrides": func(s *v1.EcommerceAppSpec) {
			s.Overrides = []v1.Override{{Selector: v1.ClusterCriteria{Regions: []string{"eu-west-1"}}, Image: "shop:v2"}}
		},
		"a database": func(s *v1.EcommerceAppSpec) {
			s.Database = &v1.Database{Engine: v1.EnginePostgreSQL, Version: "17.2", Storage: "1Gi"}
		},
	} {
		m.app.Spec = *plain.DeepCopy()
		change(&m.app.Spec)
		m.reconcile(t)
		if _, known := m.queue.memory.Result(keyOf(m.app), m.app.UID); known {
			t.Errorf("%s: the copy counts as written, although nothing is known of its member", name)
		}
		if err := m.WithWatch.Get(t.Context(), keyOf(m.app), &v1.EcommerceApp{}); !apierrors.IsNotFound(err) {
			t.Errorf("%s: the copy was written before its member is known: %v", name, err)
		}
	}
	m.app.Spec = *plain
	m.uid = "u"
	m.reconcile(t)
	m.live(t)
}
