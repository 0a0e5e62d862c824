package copies

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/propagate"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
)

// Propagated is an object that an application propagates, as it was read on the hub for a dry run.
type Propagated struct {
	source  propagate.Source
	content propagate.Object
}

// PropagatedDryRun holds the effect of an application on an object in a member.
type PropagatedDryRun struct {
	Object v1.PropagatedObject
	// Change is nil if there is none.
	Change *v1.PendingChange
	// Err is why it would not be written, or is not known.
	Err error
}

// unreadableError is the error of an object that is not copied, because of the hub or of the object.
type unreadableError struct{ reason, message string }

func (e *unreadableError) Error() string           { return e.message }
func (e *unreadableError) ConditionReason() string { return e.reason }

// ReadPropagated reads the objects that an application propagates, for dry runs in all its members. What
// is known of the application on the hub stays as it is.
func (d *Dispatcher) ReadPropagated(ctx context.Context, app *v1.EcommerceApp) []Propagated {
	if d.options.APIReader == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, d.options.CallTimeout)
	defer cancel()
	listed, err := d.options.Revisions.Propagated(ctx, app)
	if err != nil {
		log.FromContext(ctx).Error(err, "Cannot read what an earlier revision propagates, which is not planned")
	}
	all := make([]Propagated, 0, len(listed))
	for _, object := range listed {
		source, content := d.sources.readOne(ctx, app.Namespace, object)
		all = append(all, Propagated{source: source, content: content})
	}
	return all
}

// DryRunPropagated returns what would be written or deleted of the objects that an application
// propagates beside its copy, which is that of a dry run. Without a copy there is nothing.
func (l *MemberQueue) DryRunPropagated(ctx context.Context, app *v1.EcommerceApp, dry DryRunResult, all []Propagated) []PropagatedDryRun {
	if dry.Copy == nil {
		return nil
	}
	p := propagationPass{MemberQueue: l, app: app, copied: dry.Copy, held: true}
	if dry.Changed != nil && dry.Changed.Action == v1.PendingDelete {
		all = nil
	}
	listed := make([]v1.PropagatedObject, 0, len(all))
	var found []PropagatedDryRun
	for _, object := range all {
		listed = append(listed, object.source.PropagatedObject)
		change, err := p.dryRunWrite(ctx, object)
		found = append(found, PropagatedDryRun{Object: object.source.PropagatedObject, Change: change, Err: err})
	}
	leftover := propagate.Leftover(dry.Copy, listed)
	if len(listed) > 0 && revisions.MayReturn(app) {
		leftover = nil
	}
	for _, object := range leftover {
		change, err := p.dryRunPrune(ctx, object)
		found = append(found, PropagatedDryRun{Object: object, Change: change, Err: err})
	}
	return found
}

func (p *propagationPass) dryRunWrite(ctx context.Context, object Propagated) (*v1.PendingChange, error) {
	source := object.source
	switch {
	case source.Reason == v1.ReasonNotChecked:
		return nil, fmt.Errorf("propagating %s: %w", source, errNotRead)
	case !source.IsReadable():
		condition := propagate.Condition(p.app.Namespace, []propagate.Source{source})
		return nil, &unreadableError{reason: condition.Reason, message: condition.Message}
	}
	_, held, err := p.write(ctx, object.content)
	if err != nil || held == "" {
		return nil, err
	}
	return &v1.PendingChange{Kind: string(source.Kind), Name: source.Name, Action: held}, nil
}

// dryRunPrune returns the deletion of an object, which another copy that owns it prevents.
func (p *propagationPass) dryRunPrune(ctx context.Context, object v1.PropagatedObject) (*v1.PendingChange, error) {
	live, err := p.live(ctx, object)
	if err != nil || live == nil || !propagate.IsOurs(live) || live.GetDeletionTimestamp() != nil || len(propagate.Others(live, p.copied)) > 0 {
		return nil, err
	}
	return &v1.PendingChange{Kind: string(object.Kind), Name: object.Name, Action: v1.PendingDelete}, nil
}
