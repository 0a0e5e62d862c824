package reconciler

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// writeStatus writes the status if it changed, but mere progress as retry.Progress says.
func (r *reconciler[T]) writeStatus(ctx context.Context, p *pass[T]) {
	before := r.copyOf(p.object)
	now := metav1.NewTime(r.member.Settings.Clock.Now().UTC().Truncate(time.Second))
	status := r.kind.Status(p.object)
	r.escalate(p, now.Time)
	was := *status.Phase
	summary := r.summarize(p, now)
	p.deadlineDue = summary.DeadlineIn
	*status.Phase, *status.Message = summary.Phase, summary.Message
	*status.ObservedGeneration, *status.Conditions = summary.ObservedGeneration, summary.Conditions
	if status.LastHandledReconcileAt != nil {
		*status.LastHandledReconcileAt = p.object.GetAnnotations()[v1.ReconcileAtAnnotation]
	}
	if status.LastHandledImageUpdate != nil {
		*status.LastHandledImageUpdate = v1.HandledImageUpdate(p.object.GetAnnotations(), *status.LastHandledImageUpdate)
	}
	if status.DatabaseCreated != nil {
		*status.DatabaseCreated = *status.DatabaseCreated || p.created
	}
	if status.AppliedHash != nil && !p.paused {
		*status.AppliedHash = cmp.Or(r.member.Applier.AppliedHash(p.intents(), p.live), *status.AppliedHash)
	}
	if status.RenderingVersion != nil && p.states != nil && !p.deleting {
		*status.RenderingVersion, *status.HeldTemplates = r.kind.Version, p.held
	}
	summary.Replicas, summary.Addresses = p.replicas, component.Addresses(p.components, p.live)
	summary.DatabaseStarted = component.HasStarted(p.components, p.live, database.Component, database.Container)
	r.kind.SetStatus(p.object, summary)
	r.member.Settings.Metrics.observe(r.subject(client.ObjectKeyFromObject(p.object)), summary.Phase)
	r.member.Settings.Metrics.database(r.subject(client.ObjectKeyFromObject(p.object)), p.lost != "" && !p.deleting)
	if r.member.OnStatus != nil && r.member.Paused {
		r.member.OnStatus(ctx, p.object)
		return
	}
	if equality.Semantic.DeepEqual(before, p.object) {
		return
	}
	if due := r.delay(before, p.object, r.member.Settings.Clock.Now()); due > 0 {
		p.statusDue = due
		return
	}
	*r.kind.Status(p.object).LastUpdated = &now
	if r.member.OnStatus != nil {
		r.member.OnStatus(ctx, p.object)
	}
	if err := r.patchStatus(ctx, before, p.object); err != nil {
		if !apierrors.IsNotFound(err) {
			p.fail("", fmt.Errorf("writing the status: %w", err))
		}
		return
	}
	r.member.Settings.Metrics.transition(r.kind.Name, was, summary.Phase)
	r.recordWarning(before, p.object)
}

func (r *reconciler[T]) summarize(p *pass[T], now metav1.Time) component.Summary {
	status := r.kind.Status(p.object)
	claims, bound := countClaims(p)
	var last []component.State
	if r.kind.Last != nil {
		last = r.kind.Last(p.object)
	}
	var unsupported render.Unsupported
	if r.kind.Unsupported != nil {
		unsupported = r.kind.Unsupported(p.object)
	}
	problems := slices.Clone(p.problems)
	if unsupported.NoBackups && p.states != nil && !p.deleting {
		problems = append(problems, component.Problem{
			Component: database.Component, Reason: v1.ReasonNotSupported, Optional: true,
			Message: "there are no backups: snapshots need a hub. Set spec.database.backup.method to Dump",
		})
	}
	return component.Summarize(component.SummaryInput{
		Generation:         p.object.GetGeneration(),
		ObservedGeneration: *status.ObservedGeneration,
		States:             p.states,
		Problems:           problems,
		Lost:               p.lost,
		Unsupported:        unsupported.Message,
		Incomplete:         p.incomplete,
		Deleting:           p.deleting,
		Paused:             p.paused,
		Pending:            p.pending,
		Previous:           *status.Conditions,
		Last:               last,
		Rewrites:           p.rewrites,
		RewritesUnknown:    wasRewritten(*status.Conditions) && r.member.Applier.AppliedHash(p.intents(), p.live) == "",
		Now:                now,
		Claims:             claims,
		BoundClaims:        bound,
	})
}

func countClaims[T client.Object](p *pass[T]) (claims, bound int) {
	for _, c := range p.components {
		for _, object := range c.Objects {
			for _, key := range component.Claims(object.Resource) {
				claims++
				if claim, ok := p.live[key].(*corev1.PersistentVolumeClaim); ok && claim.Status.Phase == corev1.ClaimBound {
					bound++
				}
			}
		}
	}
	return claims, bound
}

// delay returns how long a new status waits that only reports progress since a recent write; 0 if it is written now.
func (r *reconciler[T]) delay(before, after T, now time.Time) time.Duration {
	last := *r.kind.Status(before).LastUpdated
	if last == nil || !r.isMinor(before, after) {
		return 0
	}
	return r.member.Progress.Until(now, last.Time)
}

// isMinor reports whether only numbers, messages, the reason for not being ready and the parts that
// are ready changed: phase, conditions and generation are the same. Becoming available is minor too: it
// precedes or follows other progress. That a server of a database has started is not, nor which pod templates are
// held, because what the hub may write depends on it.
func (r *reconciler[T]) isMinor(before, after T) bool {
	was, is := r.kind.Status(before), r.kind.Status(after)
	if *was.Phase != *is.Phase || *was.ObservedGeneration != *is.ObservedGeneration ||
		was.LastHandledReconcileAt != nil && *was.LastHandledReconcileAt != *is.LastHandledReconcileAt ||
		was.LastHandledImageUpdate != nil && *was.LastHandledImageUpdate != *is.LastHandledImageUpdate ||
		was.RenderingVersion != nil && (*was.RenderingVersion != *is.RenderingVersion || !slices.Equal(*was.HeldTemplates, *is.HeldTemplates)) ||
		was.StartedServer != nil && !equality.Semantic.DeepEqual(*was.StartedServer, *is.StartedServer) ||
		len(*was.Conditions) != len(*is.Conditions) {
		return false
	}
	for i, o := range *was.Conditions {
		n := (*is.Conditions)[i]
		changed := o.Status != n.Status && (o.Type != v1.ConditionAvailable || n.Status != metav1.ConditionTrue)
		if o.Type != n.Type || changed || o.ObservedGeneration != n.ObservedGeneration ||
			o.Type == v1.ConditionDegraded && o.Reason != n.Reason {
			return false
		}
	}
	return true
}

// patchStatus writes the status. It fails if the object was changed concurrently.
func (r *reconciler[T]) patchStatus(ctx context.Context, before, after T) error {
	ctx, cancel := context.WithTimeout(ctx, r.member.Settings.Timeout)
	defer cancel()
	if err := r.member.Client.Status().Patch(ctx, after,
		retry.MergeFromLocked(before),
		client.FieldOwner(v1.SpokeFieldManager)); err != nil {
		return err
	}
	r.keepWrite(before, after)
	return nil
}
