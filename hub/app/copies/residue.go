package copies

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
	"github.com/shopfleet/shopfleet/hub/members"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/runtime/controller"
)

// RecordResidue records the copy of an application in a member, before the application is
// released without a confirmation that the copy is gone. It reports whether the copy was
// not recorded before.
func (d *Dispatcher) RecordResidue(ctx context.Context, app *v1.EcommerceApp, member string, now time.Time) (bool, error) {
	if d.options.Residue == nil {
		return false, fmt.Errorf("recording the copy of %s in member %q: %w", keyOf(app), member, errNoResidueStore)
	}
	cluster := &v1.MemberCluster{}
	if err := d.hub.Get(ctx, client.ObjectKey{Name: member}, cluster); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading member %q: %w", member, err)
	}
	return d.options.Residue.Add(ctx, member, recovery.Residue{
		Namespace: app.Namespace, Name: app.Name, App: app.UID,
		Volumes:    app.Spec.Deletion.Volumes == v1.DeletionDelete,
		ClusterUID: cluster.Status.ClusterUID, Recorded: metav1.NewTime(now),
	})
}

var errNoResidueStore = errors.New("the dispatcher has no store")

// CleanUp enqueues the recorded copies of a member.
func (d *Dispatcher) CleanUp(ctx context.Context, member string) {
	m := d.Get(member)
	if m == nil {
		return
	}
	// The cache fails only when the process ends.
	if records, err := d.options.Residue.List(ctx, member); err == nil {
		m.queue.Add(controller.RequestsOf(keysOf(records)...)...)
	}
}

func keysOf(records []recovery.Residue) []types.NamespacedName {
	keys := make([]types.NamespacedName, 0, len(records))
	for _, r := range records {
		keys = append(keys, r.Key())
	}
	return keys
}

// cleanUp deletes the copy of a key if a record names it, and then the record. The task is about the
// application of that key on the hub; its UID is empty if there is none.
func (m *MemberQueue) cleanUp(ctx context.Context, key types.NamespacedName, t *task) error {
	records, err := m.options.Residue.List(ctx, m.name)
	if err != nil {
		return err
	}
	var problems []error
	for _, r := range records {
		if r.Key() == key {
			problems = append(problems, m.cleanUpOne(ctx, t, r))
		}
	}
	return errors.Join(problems...)
}

func (m *MemberQueue) cleanUpOne(ctx context.Context, t *task, r recovery.Residue) error {
	app := t.App
	member := &v1.MemberCluster{}
	if err := m.hub.Get(ctx, client.ObjectKey{Name: m.name}, member); err != nil || !r.In(member.Status.ClusterUID) {
		// The member leaves the fleet, or another cluster has its name: the copy is not here.
		return client.IgnoreNotFound(err)
	}
	// An application that was created anew owns what it finds, or leaves it an orphan, which
	// a user may ask to delete.
	outcome := "Kept a recorded copy, because an application of its name exists again"
	if r.Copy != "" || app.UID == "" || app.UID == r.App && app.Ending() {
		leaving := removal{
			key: r.Key(), owned: func(live component.Resource) bool { return r.Names(live) },
			deletion: members.Deletion{App: r.App, At: r.Recorded.Time}, volumes: r.Volumes && r.Copy == "",
		}
		if app.UID == r.App {
			leaving.deletion = m.deletionOf(app)
		}
		if app.UID == r.App && !app.Ending() {
			// An orphan of an application that goes on elsewhere, and may have adopted it after
			// the backup that the hub was restored from.
			leaving.check = func(live component.Resource) error {
				return m.assessCopy(ctx, t, live, nil)
			}
		}
		gone, err := m.deleteCopy(ctx, leaving)
		if err != nil || !gone {
			return err
		}
		outcome = "Deleted a recorded copy"
	}
	if err := m.options.Residue.Remove(ctx, m.name, r.ID()); err != nil {
		return err
	}
	log.FromContext(ctx).Info(outcome, "app", r.App, "copy", r.Copy, "recorded", r.Recorded)
	return nil
}

// dropRecords removes the records of copies that an application has replaced or taken over: one of the name exists
// again, and its copy was written.
func (m *MemberQueue) dropRecords(ctx context.Context, app *v1.EcommerceApp) error {
	records, err := m.options.Residue.List(ctx, m.name)
	if err != nil {
		return err
	}
	member := &v1.MemberCluster{}
	for _, r := range records {
		if r.Key() != keyOf(app) {
			continue
		}
		if err := m.hub.Get(ctx, client.ObjectKey{Name: m.name}, member); err != nil {
			return client.IgnoreNotFound(err)
		}
		if !r.In(member.Status.ClusterUID) {
			continue // Another cluster under the member's name.
		}
		if err := m.options.Residue.Remove(ctx, m.name, r.ID()); err != nil {
			return err
		}
		log.FromContext(ctx).Info("Kept a recorded copy, because an application of its name runs there again", "app", r.App, "copy", r.Copy, "recorded", r.Recorded)
	}
	return nil
}
