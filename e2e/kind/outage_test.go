package kind

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
)

// errEnding is returned while pods end that were replaced.
var errEnding = errors.New("pods end")

// leaseName is the hub's lease.
const leaseName = "shopfleet-hub"

// holder returns the pod of the hub that leads, and the process in it: one that was
// started again is another.
func (e *environment) holder(ctx context.Context) (pod, process string, err error) {
	lease := &coordinationv1.Lease{}
	if err := e.hub.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: leaseName}, lease); err != nil {
		return "", "", fmt.Errorf("reading the lease: %w", err)
	}
	if lease.Spec.HolderIdentity == nil {
		return "", "", errNoLeader
	}
	// The identity is the pod's name, and something random.
	pod, process, _ = strings.Cut(*lease.Spec.HolderIdentity, "_")
	if process == "" {
		return "", "", errNoLeader
	}
	return pod, process, nil
}

// leader waits until a process of the hub leads, another than the former, and
// returns its pod and itself.
func (e *environment) leader(t *testing.T, former string) (pod, process string) {
	t.Helper()
	fleettest.Within(t, patience, "a pod of the hub to lead", func(ctx context.Context) (err error) {
		if pod, process, err = e.holder(ctx); err == nil && process == former {
			err = fmt.Errorf("%w but the former", errNoLeader)
		}
		return err
	})
	return pod, process
}

// testMemberPaused stops all processes of one member after the other. It turns Unknown
// within the promised time and takes its region with it, the other region goes on,
// and it is back by itself.
func (e *environment) testMemberPaused(t *testing.T) {
	t.Helper()
	for name, r := range e.each() {
		t.Run(name, func(t *testing.T) {
			paused := r.pause(t)
			fleettest.Within(t, patience, r.name+" to be Unknown", func(ctx context.Context) error {
				return e.region(ctx, r, v1.PhaseUnknown)
			})
			took := time.Since(paused)
			t.Logf("%s is Unknown after %s", r.name, took.Round(time.Second/10))
			if took > unknownWithin {
				t.Errorf("it took %s, more than %s", took, unknownWithin)
			}
			for _, other := range e.others(r.name) {
				if err := e.region(t.Context(), other, v1.PhaseRunning); err != nil {
					t.Errorf("%s suffers, too: %v", other.name, err)
				}
				other.order(t, shop)
			}
			if err := r.Unpause(t.Context()); err != nil {
				t.Fatal(err)
			}
			back := time.Now()
			e.running(t, shop, ledger)
			t.Logf("%s runs again %s after it was resumed", r.name, time.Since(back).Round(time.Second/10))
			r.order(t, shop)
		})
	}
}

// testPause follows the documentation: members that are paused, one by its spec and all by the safe
// mode of the hub, say so, and their shops serve.
func (e *environment) testPause(t *testing.T) {
	t.Helper()
	e.follow(t, "Pause")
	e.awaitPaused(t, e.regions[0], true)
	e.regions[0].order(t, shop)
	e.follow(t, "End the pause")
	e.awaitPaused(t, e.regions[0], false)
	e.running(t, shop, ledger)

	e.follow(t, "Safe mode")
	for _, r := range e.regions {
		e.awaitPaused(t, r, true)
		r.order(t, shop)
	}
	e.follow(t, "End safe mode")
	for _, r := range e.regions {
		e.awaitPaused(t, r, false)
	}
	e.running(t, shop, ledger)
}

// awaitPaused waits until the hub reports whether a member is paused.
func (e *environment) awaitPaused(t *testing.T, r *region, want bool) {
	t.Helper()
	member := &v1.MemberCluster{}
	fleettest.Within(t, patience, fmt.Sprintf("%s to be paused: %v", r.name, want), func(ctx context.Context) error {
		if err := e.hub.Get(ctx, client.ObjectKey{Name: r.name}, member); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(member.Status.Conditions, v1.ConditionReady)
		if ready == nil || (ready.Reason == v1.ReasonPaused) != want {
			return errWaiting
		}
		return nil
	})
}

// pause stops all processes of the member, for the time of the test at most, and
// returns when.
func (r *region) pause(t *testing.T) time.Time {
	t.Helper()
	if err := r.Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if still, err := r.Paused(context.WithoutCancel(t.Context())); err == nil && still {
			_ = r.Unpause(context.WithoutCancel(t.Context()))
		}
	})
	return time.Now()
}

// region returns nil if the hub says of the shop in a region that it is in a phase.
func (e *environment) region(ctx context.Context, r *region, want v1.Phase) error {
	app, err := e.app(ctx, shop)
	if err != nil {
		return err
	}
	var cluster, region v1.Phase
	for _, c := range app.Status.Clusters {
		if c.Name == r.name {
			cluster = c.Phase
		}
	}
	for _, s := range app.Status.Regions {
		if s.Name == r.Region {
			region = s.Phase
		}
	}
	if cluster != want || region != want {
		return fmt.Errorf("%w: the cluster is %s, the region %s", errWaiting, cluster, region)
	}
	return nil
}

// testLeaderKilled kills the leading hub and takes its pod away. The standby takes over,
// and writes nothing that is written already.
func (e *environment) testLeaderKilled(t *testing.T) {
	t.Helper()
	former, process := e.leader(t, "")
	pod := &corev1.Pod{}
	if err := e.hub.Get(t.Context(), client.ObjectKey{Namespace: config.Namespace, Name: former}, pod); err != nil {
		t.Fatal(err)
	}
	marks := []audit.Mark{}
	for _, r := range e.regions {
		marks = append(marks, r.mark(t))
	}
	begin := time.Now()
	if err := e.hub.kill(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	e.hub.must(t, "delete", "pod", former, "--namespace", config.Namespace, "--grace-period=0", "--force")
	next, _ := e.leader(t, process)
	t.Logf("%s leads %s after %s was killed", next, time.Since(begin).Round(time.Second/10), former)
	// The new leader works: it passes this on to each member, in one write.
	e.reconcile(t)
	e.running(t, shop, ledger)
	for i, r := range e.regions {
		writes := r.since(t, marks[i]).ByServiceAccount(config.Namespace, config.HubServiceAccount).Writes().Succeeded()
		copies := writes.Of("ecommerceapps")
		applied := 0
		for _, event := range copies {
			if event.Subresource == "" {
				applied++
			}
		}
		records := writes.Of("configmaps") // The new leader takes the member over.
		if applied != 1 || len(records) != 1 || len(writes) != len(copies)+len(records) {
			t.Errorf("%s: the hub wrote, want its record, one copy and the status of that:\n%s", r.name, writes)
		}
	}
}

// testModeSwitch moves the work between the hub and the agent, in both directions at
// once and back: no pod is started again, and nothing of the shop is written.
func (e *environment) testModeSwitch(t *testing.T) {
	t.Helper()
	before := e.podsOf(t)
	for _, section := range []string{"Switch", "Switch back"} {
		marks := []audit.Mark{}
		for _, r := range e.regions {
			marks = append(marks, r.mark(t))
		}
		e.follow(t, section)
		e.reconcile(t)
		e.running(t, shop, ledger)
		for i, r := range e.regions {
			r.mode = otherMode(r.mode)
			r.checkUntouched(t, marks[i])
			r.checkRepair(t) // By the process that is responsible now.
		}
	}
	if after := e.podsOf(t); !slices.Equal(before, after) {
		t.Errorf("pods and restarts before:\n%v\nand after:\n%v", before, after)
	}
}

// checkRepair checks that a deleted Service of the shop is recreated.
func (r *region) checkRepair(t *testing.T) {
	t.Helper()
	r.must(t, "delete", "service", shop+"-backend", "--namespace", namespace)
	fleettest.Within(t, patience, "the service to be back", func(ctx context.Context) error {
		return r.get(ctx, shop+"-backend", &corev1.Service{})
	})
}

func otherMode(m v1.Mode) v1.Mode {
	if m == v1.ModeAgent {
		return v1.ModeAgentless
	}
	return v1.ModeAgent
}

// podsOf lists the pods of the shops everywhere, with their restarts, when those that were replaced have ended.
func (e *environment) podsOf(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, r := range e.regions {
		fleettest.Within(t, patience, "pods that were replaced to end in "+r.name, r.ended)
		pods := &corev1.PodList{}
		if err := r.List(t.Context(), pods, client.InNamespace(namespace), client.HasLabels{v1.InstanceLabel}); err != nil {
			t.Fatal(err)
		}
		for i := range pods.Items {
			pod := &pods.Items[i]
			if job := pod.Labels["batch.kubernetes.io/job-name"]; job == "" {
				all = append(all, fmt.Sprintf("%s/%s %s restarts=%d", r.name, pod.Name, pod.UID, restarts(pod)))
			}
		}
	}
	slices.Sort(all)
	return all
}

// ended returns an error while pods of the shops end, or a Deployment has others than it is to have.
func (r *region) ended(ctx context.Context) error {
	pods, deployments := &corev1.PodList{}, &appsv1.DeploymentList{}
	for _, list := range []client.ObjectList{pods, deployments} {
		if err := r.List(ctx, list, client.InNamespace(namespace), client.HasLabels{v1.InstanceLabel}); err != nil {
			return fmt.Errorf("listing pods: %w", err)
		}
	}
	for i := range deployments.Items {
		if s := deployments.Items[i].Status; s.Replicas != s.UpdatedReplicas {
			return fmt.Errorf("%w: %s has %d of which %d are updated", errEnding, deployments.Items[i].Name, s.Replicas, s.UpdatedReplicas)
		}
	}
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp != nil {
			return fmt.Errorf("%w: %s", errEnding, pods.Items[i].Name)
		}
	}
	return nil
}

// testObserve reads metrics, changes the log level, and renews a token.
func (e *environment) testObserve(t *testing.T) {
	t.Helper()
	said := e.follow(t, "Observe")
	for _, want := range []string{"reconcile_total{", "us-1", "\n1\n"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in what is observed:\n%s", want, said)
		}
	}
	e.remember(t)
	e.follow(t, "Rotate")
	e.running(t, shop, ledger)
}
