package plan

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/propagate"
	"github.com/shopfleet/shopfleet/spoke/controller/reconciler"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// errPanicked means that planning in one cluster panicked.
var errPanicked = errors.New("planning panicked")

// inCluster holds the answer of one cluster.
type inCluster struct {
	changes []v1.PlannedChange
	paused  bool
	// unknown is the reason why not all changes are known, and message explains it; empty if they are.
	unknown, message string
}

// inClusters asks the clusters that an application runs in or leaves, all at a time, and returns their
// answers by name.
func (r *Reconciler) inClusters(ctx context.Context, app *v1.EcommerceApp) map[string]inCluster {
	ctx, cancel := context.WithTimeout(ctx, r.options.Waits.Scaled(deadline))
	defer cancel()
	answers := make([]inCluster, len(app.Status.Clusters))
	propagated := r.options.Propagation.Read(ctx, app)
	var group sync.WaitGroup
	for i := range app.Status.Clusters {
		group.Go(func() { answers[i] = r.ask(ctx, app, app.Status.Clusters[i].Name, propagated) })
	}
	group.Wait()
	byName := make(map[string]inCluster, len(answers))
	for i := range answers {
		byName[app.Status.Clusters[i].Name] = answers[i]
	}
	return byName
}

// ask returns what would change in one cluster. A panic is a failure in this cluster alone: the
// manifest is not validated before a member did.
func (r *Reconciler) ask(ctx context.Context, app *v1.EcommerceApp, name string, propagated []propagate.Content) (found inCluster) {
	defer func() {
		if cause := recover(); cause != nil {
			log.FromContext(ctx).Error(errPanicked, "Cannot plan in a cluster", "cluster", name, "cause", cause, "stack", string(debug.Stack()))
			found.fail(errPanicked)
		}
	}()
	member := &v1.MemberCluster{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: name}, member, client.UnsafeDisableDeepCopy); err != nil {
		found.unknown, found.message = v1.ReasonClusterDetached, "there is no MemberCluster of this name"
		return found
	}
	queue, beside := r.options.Copies(name), r.options.Propagation.Get(name)
	if queue == nil || beside == nil {
		found.disconnected(member)
		return found
	}
	dry, err := queue.DryRun(ctx, app)
	found.paused = member.IsPaused() || app.Spec.Paused
	if dry.Namespace != nil {
		found.changes = append(found.changes, reconciler.Planned(*dry.Namespace))
	}
	if dry.Changed != nil {
		found.changes = append(found.changes, reconciler.Planned(*dry.Changed))
	}
	if err != nil {
		found.refuse("EcommerceApp", app.Name, err)
		return found
	}
	if dry.Copy == nil {
		return found
	}
	leaves := dry.Changed != nil && dry.Changed.Action == v1.PendingDelete
	if leaves {
		propagated = nil
	}
	found.addBeside(beside.DryRun(ctx, app, dry.Copy, propagated))
	if dry.ManagedBy == v1.ManagedByAgent {
		if dry.Changed != nil {
			found.unknown = v1.ReasonManagedByAgent
			found.message = "the agent in the cluster writes the children of the copy, and the hub may not: only the copy is compared"
		}
		return found
	}
	children, err := r.options.Children(ctx, name, reconciler.DryRunRequest[*v1.EcommerceApp]{
		Object: dry.Copy, NoNamespace: dry.Namespace != nil, Deletion: leaves,
	})
	found.changes = append(found.changes, children...)
	if err != nil {
		found.refuse("EcommerceApp", app.Name, err)
	}
	return found
}

// addBeside adds what would change beside the copy.
func (c *inCluster) addBeside(all []propagate.DryRunResult) {
	for _, beside := range all {
		if beside.Change != nil {
			c.changes = append(c.changes, reconciler.Planned(*beside.Change))
		} else if beside.Err != nil {
			c.refuse(string(beside.Object.Kind), beside.Object.Name, beside.Err)
		}
	}
}

// refuse adds an error about an object: as a write that is refused, or as the reason why changes are
// not known.
func (c *inCluster) refuse(kind, name string, err error) {
	if refused, is := reconciler.Refusal(kind, name, err); is {
		c.changes = append(c.changes, refused)
		return
	}
	c.fail(err)
}

// fail records why changes are not known.
func (c *inCluster) fail(err error) {
	d := apierror.Decide(err)
	c.unknown, c.message = d.Reason, d.Message
	switch d.Class {
	case apierror.Conflict, apierror.Fenced:
		c.unknown, c.message = v1.ReasonConflict, "objects changed meanwhile: plan again"
	case apierror.Unreachable:
		c.unknown = v1.ReasonClusterUnreachable
	default:
	}
}

// disconnected records why a cluster is not connected, according to its MemberCluster.
func (c *inCluster) disconnected(member *v1.MemberCluster) {
	c.fail(apierror.ErrNotConnected)
	if ready := meta.FindStatusCondition(member.Status.Conditions, v1.ConditionReady); ready != nil {
		c.message = ready.Reason + ": " + ready.Message
	}
}
