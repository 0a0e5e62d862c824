package commands

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
)

// TestSortedDecisions: --sort-by sorts what waits, and an orphan stays one.
func TestSortedDecisions(t *testing.T) {
	t.Parallel()
	app := func(name string) v1.EcommerceApp {
		return v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: name}}
	}
	for flag, want := range map[string][]string{
		"":                         {"c", "a", "d", "b", "us-1", "eu-1"},
		"--sort-by=.metadata.name": {"a", "c", "b", "d", "eu-1", "us-1"},
	} {
		found := decisions{
			apps: []v1.EcommerceApp{app("c"), app("a")}, orphans: []v1.EcommerceApp{app("d"), app("b")},
			members: []v1.MemberCluster{{ObjectMeta: metav1.ObjectMeta{Name: "us-1"}}, {ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}}},
		}
		l, _ := listing(t, flag)
		if err := found.sort(l.output); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, item := range found.list().Items {
			got = append(got, item.Object.(client.Object).GetName())
		}
		if diff := cmp.Diff(want, got); diff != "" || len(found.apps) != 2 || len(found.orphans) != 2 {
			t.Errorf("%q (-want +got):\n%s", flag, diff)
		}
	}
}

// waitingHub returns a hub with two of each that wait for the user, one of which has a label, and some that wait for nothing.
func waitingHub(t *testing.T) *cluster {
	t.Helper()
	app := func(name, reason string, labels map[string]string) *v1.EcommerceApp {
		a := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: name, Labels: labels}}
		a.Status.Clusters = []v1.ClusterStatus{{Name: "eu-1", Reason: reason}}
		return a
	}
	member := func(name, other string, labels map[string]string) *v1.MemberCluster {
		m := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		m.Status.OtherHub = other
		return m
	}
	orphans := func(member string, uid types.UID) *corev1.ConfigMap {
		data, err := recovery.EncodeOrphans(recovery.Listed{Orphans: []v1.EcommerceApp{{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "gone", UID: uid}}}})
		if err != nil {
			t.Fatal(err)
		}
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: config.Namespace, Name: recovery.OrphansName(member), Labels: map[string]string{v1.MemberRecordLabel: member},
		}, Data: data}
	}
	prod := map[string]string{"tier": "prod"}
	return readOnly(t, app("a", v1.ReasonNewerInMember, prod), app("b", v1.ReasonDeletedInMember, nil), app("fine", v1.ReasonReconciled, prod),
		member("eu-1", "other", prod), member("us-1", "other", nil), member("ap-1", "", prod), orphans("eu-1", "1"), orphans("us-1", "2"))
}

// TestSelectedDecisions: -l selects EcommerceApps, MemberClusters and orphans by their labels, and a name or a namespace narrows it.
func TestSelectedDecisions(t *testing.T) {
	t.Parallel()
	shops := client.InNamespace("shops")
	for name, tt := range map[string]struct {
		selector, app string
		namespace     client.ListOption
		want          []string
	}{
		"all":                  {"", "", client.InNamespace(""), []string{"a", "b", "eu-1", "gone in eu-1", "gone in us-1", "us-1"}},
		"in another namespace": {"", "", client.InNamespace("other"), []string{"eu-1", "us-1"}},
		"by a label":           {"tier=prod", "", shops, []string{"a", "eu-1"}},
		"without a label":      {"tier!=prod", "", shops, []string{"b", "gone in eu-1", "gone in us-1", "us-1"}},
		"orphans in a cluster": {v1.ClusterLabel + "=us-1", "", shops, []string{"gone in us-1"}},
		"by name and label":    {"tier=prod", "a", shops, []string{"a"}},
		"by name alone":        {"", "gone", shops, []string{"gone in eu-1", "gone in us-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			selector, err := labels.Parse(tt.selector)
			if err != nil {
				t.Fatal(err)
			}
			hub := waitingHub(t)
			r := &recoverList{Program: &Program{namespace: config.Namespace, clock: testclock.NewFakeClock(now())}, name: tt.app}
			lists := r.lists(hub, []client.ListOption{tt.namespace, client.MatchingLabelsSelector{Selector: selector}})
			found, err := r.waiting(t.Context(), hub, lists, "shops")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range found.objects() {
				name := o.GetName()
				if in := o.GetLabels()[v1.ClusterLabel]; in != "" {
					name += " in " + in
				}
				got = append(got, name)
			}
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("decisions (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOrphansAreFollowed: a watch prints each orphan once, also those of one name, and those that come.
func TestOrphansAreFollowed(t *testing.T) {
	t.Parallel()
	l, printed := listing(t, "--no-headers")
	r := &recoverList{Program: l.Program, output: l.output}
	orphans := r.lists(l.hub, []client.ListOption{client.MatchingLabelsSelector{Selector: labels.Everything()}})[1]
	one := func(uid types.UID, in string) client.Object {
		return &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "gone", UID: uid, Labels: map[string]string{v1.ClusterLabel: in}}}
	}
	versions := map[string]string{}
	both := []client.Object{one("1", "eu-1"), one("2", "us-1")}
	for _, objects := range [][]client.Object{both[:1], both, both, both[1:]} {
		if err := orphans.printChanged(objects, versions); err != nil {
			t.Fatal(err)
		}
	}
	want := "gone   eu-1   Orphan   a copy of age -   adopt, delete\ngone   us-1   Orphan   a copy of age -   adopt, delete\n"
	if diff := cmp.Diff(want, printed()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}
