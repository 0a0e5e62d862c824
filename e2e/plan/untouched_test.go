package plan

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// untouched returns a function that checks that nothing was written since: the resource versions of
// all objects are the same, and the hub sent no write but dry runs, statuses of Plans and what it
// writes at any time about itself and its members.
func (s *suite) untouched(t *testing.T) (check func()) {
	t.Helper()
	var marks framework.Marks
	before := s.versions(t)
	const tries = 8
	for range tries { // What Kubernetes makes of the objects may come late.
		marks = framework.MarkSettled(t, s.Fleet, s.shop.Namespace, config.HubServiceAccount)
		last := before
		if before = s.versions(t); maps.Equal(last, before) {
			break
		}
	}
	return func() {
		t.Helper()
		if diff := cmp.Diff(before, s.versions(t)); diff != "" {
			t.Errorf("resource versions (-before +after):\n%s", diff)
		}
		for _, c := range s.Fleet.Clusters() {
			writes := marks.By(t, c, config.HubServiceAccount).Writes().Except("plans", "leases", "memberclusters", "events")
			if c != s.Fleet.Hub() {
				writes = slices.DeleteFunc(writes, func(e audit.Event) bool { return e.Namespace == config.Namespace })
			}
			if len(writes) > 0 {
				t.Errorf("writes in %s:\n%s", c.Name(), writes)
			}
		}
	}
}

// versions returns the resource versions of the objects of applications on the hub and in members.
func (s *suite) versions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	clients := maps.Clone(s.Members)
	clients["hub"] = s.Hub
	for cluster, c := range clients {
		lists := []client.ObjectList{
			&v1.EcommerceAppList{}, &corev1.NamespaceList{}, &corev1.SecretList{}, &corev1.ConfigMapList{}, &corev1.ServiceList{},
			&corev1.ServiceAccountList{}, &corev1.PersistentVolumeClaimList{}, &corev1.PersistentVolumeList{}, &corev1.PodList{},
			&appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &appsv1.ReplicaSetList{}, &batchv1.CronJobList{},
			&networkingv1.IngressList{}, &networkingv1.NetworkPolicyList{}, &policyv1.PodDisruptionBudgetList{},
		}
		if cluster == "hub" {
			lists = append(lists, &v1.BackupList{}, &v1.RestoreList{}, &v1.CloudAccountList{})
		}
		for _, list := range lists {
			if err := c.List(t.Context(), list); err != nil {
				t.Fatal(err)
			}
			if err := meta.EachListItem(list, func(item runtime.Object) error {
				o, err := meta.Accessor(item)
				if err == nil && o.GetNamespace() != "kube-system" && o.GetNamespace() != config.Namespace {
					all[cluster+" "+fmt.Sprintf("%T", list)+" "+o.GetNamespace()+"/"+o.GetName()] = o.GetResourceVersion()
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}
