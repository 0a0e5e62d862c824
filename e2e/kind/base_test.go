package kind

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// testBase installs the base build, runs the shops with it, and follows the upgrade to this build:
// exactly the pods restart that CHANGELOG.md names, once each. Only testUpgrade goes back.
func (e *environment) testBase(t *testing.T) {
	t.Helper()
	e.reset(t)
	sources := e.sourcesOf(t, framework.BeforeCommit)
	hubImage, spokeImage, err := e.env.LoadProduct(t.Context(), sources, framework.Before)
	if err != nil {
		t.Fatal(err)
	}
	e.hub.installFrom(t, sources, "hub", hubImage)
	for _, r := range e.regions {
		join := []string{"join", r.name, "--member-kubeconfig", r.Kubeconfig, "--member-server", r.InternalServer}
		if r.mode == v1.ModeAgent {
			join = append(join, "--mode", "agent", "--spoke-image", spokeImage)
		}
		e.hub.runFrom(t, sources, join...)
	}
	e.applyShops(t)
	before := e.workloads(t.Context(), t)
	e.follow(t, "Upgrade")
	e.reconcile(t)
	named := restarted(t)
	fleettest.Within(t, 2*patience, fmt.Sprintf("the pods of %q to be replaced", named), func(ctx context.Context) error {
		for key, now := range e.workloads(ctx, t) {
			if slices.Contains(named, key.name) && now.templates == before[key].templates {
				return fmt.Errorf("%w: %v", errWaiting, key)
			}
		}
		return nil
	})
	e.running(t, shop, ledger)
	after := e.workloads(t.Context(), t)
	checkRestarts(t, named, before, after)
}

// checkRestarts checks that the named workloads have replaced their pods once, and no other has.
func checkRestarts(t *testing.T, named []string, before, after map[workloadKey]workload) {
	t.Helper()
	for _, name := range named {
		// No MySQLCluster and no WebApp runs here: the golden test alone knows of their templates.
		isHere := slices.ContainsFunc(slices.Collect(maps.Keys(before)), func(key workloadKey) bool { return key.name == name })
		if !isHere && strings.HasPrefix(name, "EcommerceApp ") {
			t.Errorf("CHANGELOG.md names %s, of which nothing ran", name)
		}
	}
	for key, then := range before {
		now := after[key]
		switch {
		case !slices.Contains(named, key.name):
			if !slices.Equal(then.pods, now.pods) || then.templates != now.templates {
				t.Errorf("CHANGELOG.md does not name %v, which had %+v and has %+v", key, then, now)
			}
		case now.templates != then.templates+1 || len(now.pods) != len(then.pods) || sharesAny(then.pods, now.pods):
			t.Errorf("%v had %+v and has %+v, want each pod replaced once", key, then, now)
		}
	}
}

// restarted returns the workloads whose pods the upgrade restarts, as CHANGELOG.md says.
func restarted(t *testing.T) []string {
	t.Helper()
	changelog, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	return apitest.RestartedWorkloads(string(changelog))
}

// workloadKey identifies a workload by its member, its application and its name in CHANGELOG.md.
type workloadKey struct{ member, app, name string }

// workload holds the pods of a workload with the restarts of their containers, and how many
// pod templates it has had.
type workload struct {
	pods      []string
	templates int
}

// workloads returns the workloads of the shops in all members.
func (e *environment) workloads(ctx context.Context, t *testing.T) map[workloadKey]workload {
	t.Helper()
	found := map[workloadKey]workload{}
	for _, r := range e.regions {
		pods, sets, revisions := &corev1.PodList{}, &appsv1.ReplicaSetList{}, &appsv1.ControllerRevisionList{}
		for _, list := range []client.ObjectList{pods, sets, revisions} {
			if err := r.List(ctx, list, client.InNamespace(namespace), client.HasLabels{v1.InstanceLabel}); err != nil {
				t.Fatal(err)
			}
		}
		add := func(o client.Object, pod string) {
			key := r.workloadOf(o)
			now := found[key]
			if pod == "" {
				now.templates++
			} else {
				now.pods = append(now.pods, pod)
				slices.Sort(now.pods)
			}
			found[key] = now
		}
		for i := range pods.Items {
			if pod := &pods.Items[i]; pod.DeletionTimestamp.IsZero() && pod.Labels["batch.kubernetes.io/job-name"] == "" {
				add(pod, fmt.Sprintf("%s restarts=%d", pod.UID, restarts(pod)))
			}
		}
		for i := range sets.Items {
			add(&sets.Items[i], "")
		}
		for i := range revisions.Items {
			add(&revisions.Items[i], "")
		}
	}
	return found
}

// workloadOf returns the workload of an object by its labels.
func (r *region) workloadOf(o client.Object) workloadKey {
	labels := o.GetLabels()
	key := workloadKey{r.name, labels[v1.InstanceLabel], "EcommerceApp " + labels[v1.ComponentLabel]}
	switch labels[v1.ComponentLabel] {
	case "database":
		engine := v1.EnginePostgreSQL
		if key.app == ledger {
			engine = v1.EngineMySQL
		}
		key.name += " with " + string(engine)
	case "ingress":
		key.name = "EcommerceApp login"
	}
	return key
}

// sharesAny reports whether two lists have an item in common.
func sharesAny(a, b []string) bool {
	return slices.ContainsFunc(a, func(item string) bool { return slices.Contains(b, item) })
}
