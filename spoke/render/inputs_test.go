package render

import (
	"math/rand/v2"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// TestInputs edits each field of random shops: an edit that changes the pods of a workload changes the hash of what they
// are rendered from, so that they are not held, and one of replicas, storage or a share changes none.
func TestInputs(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	changed := map[string]bool{}
	for range 60 {
		app, cluster := randomShop(random)
		app.Spec = apitest.RandomFullApp(random).Spec
		for range 20 {
			before := workloadsOf(t, app, cluster)
			field := apitest.RandomEdit(random, app)
			for name, now := range workloadsOf(t, app, cluster) {
				if was, existed := before[name]; existed {
					changed[name] = changed[name] || was.Inputs != now.Inputs
					// One of the database may be the first, and then others get their settings.
					scales := scales(field) && (name == "database" || !strings.HasPrefix(field, ".database"))
					checkInputs(t, name+": an edit of "+field, was, now, scales)
				}
			}
		}
	}
	for _, name := range []string{"database", "backend", "frontend", "ingress"} {
		if !changed[name] {
			t.Errorf("no edit changed the hash of %s", name)
		}
	}
}

// scales reports whether a field changes how many replicas there are, or how large their volumes are.
func scales(field string) bool {
	return strings.HasSuffix(field, "eplicas") || strings.Contains(field, ".autoscaling") || strings.HasPrefix(field, ".database.storage")
}

// checkInputs compares the hashes of what a workload is rendered from before and after an edit.
func checkInputs(t *testing.T, edit string, was, now component.Object, scales bool) {
	t.Helper()
	same := equality.Semantic.DeepEqual(podTemplates(was.Resource), podTemplates(now.Resource))
	renamed := component.KeyOf(was.Resource) != component.KeyOf(now.Resource) // By the strategy BlueGreen.
	if now.Inputs == "" || !same && was.Inputs == now.Inputs && !renamed {
		t.Errorf("%s changes the pods, and not the hash %q", edit, now.Inputs)
	}
	if scales && !renamed && (!same || was.Inputs != now.Inputs) {
		t.Errorf("%s would replace pods, of this version or of an earlier one", edit)
	}
}

// workloadsOf returns the Deployments and StatefulSets of a shop by component.
func workloadsOf(t *testing.T, app *v1.EcommerceApp, cluster Cluster) map[string]component.Object {
	t.Helper()
	components, err := EcommerceApp(app, cluster)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]component.Object{}
	for _, c := range components {
		for _, o := range c.Objects {
			switch o.Resource.(type) {
			case *appsv1.Deployment, *appsv1.StatefulSet:
				found[c.Name] = o
			}
		}
	}
	return found
}
