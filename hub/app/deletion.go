package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/copies"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
	runtimecontroller "github.com/shopfleet/shopfleet/spoke/runtime/controller"
)

// skipUnreachable is the value of v1.SkipUnreachableAnnotation that has an effect.
const skipUnreachable = "true"

// abandon marks the lost or paused clusters that the deletion of an application no longer waits
// for. It returns the time until it has to be called again; 0 if time does not matter.
func abandon(app *v1.EcommerceApp, clusters []aggregate.Cluster, now time.Time) time.Duration {
	if !app.Ending() {
		return 0
	}
	atOnce := app.Annotations[v1.SkipUnreachableAnnotation] == skipUnreachable
	var timeout, next time.Duration
	if limit := app.Spec.Deletion.UnreachableTimeout; limit != nil {
		timeout = limit.Duration
	}
	for i := range clusters {
		c := &clusters[i]
		lost := c.Connection == aggregate.Lost
		if atOnce {
			c.Abandoned = lost || c.Paused
			continue
		}
		if !lost || c.Paused || timeout <= 0 {
			continue // A pause has no timeout, also of a member that does not respond.
		}
		// A connected member's LastObserved may be old, so it does not suffice when a hub
		// starts beside a member that does not respond.
		since := app.DeletionTimestamp.Time
		for _, later := range []*metav1.Time{c.LastObserved, &c.ConnectionSince} {
			if later != nil && later.After(since) {
				since = later.Time
			}
		}
		rest := since.Add(timeout).Sub(now)
		if rest <= 0 {
			c.Abandoned = true
		} else if next == 0 || rest < next {
			next = rest
		}
	}
	return next
}

// residueIn returns the clusters whose entries leave the inventory of an application
// that is being deleted, without a confirmation that the copy is gone: those that are
// abandoned, and those that left the fleet.
func residueIn(in aggregate.Input, next v1.EcommerceAppStatus) []string {
	if !in.Deleting {
		return nil
	}
	kept := map[string]bool{}
	for _, entry := range next.Clusters {
		kept[entry.Name] = true
	}
	for _, c := range in.Clusters {
		kept[c.Name] = kept[c.Name] || c.Gone
	}
	var names []string
	for _, entry := range in.Previous.Clusters {
		if !kept[entry.Name] {
			names = append(names, entry.Name)
		}
	}
	slices.Sort(names)
	return names
}

// recordResidue records the residue of a deletion in clusters, before their entries
// leave the inventory or the application is released, and returns those whose record is
// full or, with an error, cannot be written. A crash at any point repeats a step at most.
func (r *Reconciler) recordResidue(ctx context.Context, app *v1.EcommerceApp, clusters []string) (unrecorded []string, err error) {
	var problems []error
	for _, name := range clusters {
		recorded, err := r.dispatcher.RecordResidue(ctx, app, name, r.clock.Now())
		switch {
		case errors.Is(err, recovery.ErrFull):
			unrecorded = append(unrecorded, name)
		case err != nil:
			unrecorded = append(unrecorded, name)
			problems = append(problems, err)
		}
		if recorded {
			r.recorder.Eventf(app, copies.Subject(name), corev1.EventTypeWarning, "CopyLeftBehind", "Delete",
				"%s cannot be reached; the copy there is deleted when it returns", name)
		}
	}
	return unrecorded, errors.Join(problems...)
}

// releaseBackups marks the Backups of an application with spec.deletion.backups: Delete, so that retention keeps none of
// them for good: once the application is gone, nothing else says what it wanted.
func (r *Reconciler) releaseBackups(ctx context.Context, app *v1.EcommerceApp) error {
	if app.Spec.Deletion.Backups != v1.DeletionDelete {
		return nil
	}
	list := &v1.BackupList{}
	if err := r.reader.List(ctx, list, client.InNamespace(app.Namespace)); err != nil {
		return fmt.Errorf("listing backups: %w", err)
	}
	for i := range list.Items {
		b := &list.Items[i]
		if b.Status.AppUID != string(app.UID) || b.Annotations[v1.KeepNewestAnnotation] != "" {
			continue
		}
		before := b.DeepCopy()
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, v1.KeepNewestAnnotation, "false")
		if err := r.client.Patch(ctx, b, client.MergeFrom(before), client.FieldOwner(v1.HubFieldManager)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("marking backup %q: %w", b.Name, err)
		}
	}
	return nil
}

// unrecorded returns a request for each application whose deletion waits because the record
// of a member was full.
func (c *Controller) unrecorded(member string) []reconcile.Request {
	return runtimecontroller.RequestsOf(c.state.Where(func(app *v1.EcommerceApp) bool {
		entry := app.Status.EntryOf(member)
		return entry != nil && entry.Reason == v1.ReasonResidueFull
	})...)
}
