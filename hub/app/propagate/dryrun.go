package propagate

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// Content is an object that an application propagates, as it was read on the hub for a dry run.
type Content struct {
	source state.Source
	object Object
}

// DryRunResult holds the effect of an application on an object in a member.
type DryRunResult struct {
	Object v1.PropagatedObject
	// Change is nil if there is none.
	Change *v1.PendingChange
	// Err is why it would not be written, or is not known.
	Err error
}

// Read reads the objects that an application propagates, for dry runs in all its members. What is known of the
// application on the hub stays as it is.
func (d *Dispatcher) Read(ctx context.Context, app *v1.EcommerceApp) []Content {
	if d.APIReader == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, d.CallTimeout)
	defer cancel()
	listed, err := d.Revisions.Propagated(ctx, app)
	if err != nil {
		log.FromContext(ctx).Error(err, "Cannot read what an earlier revision propagates, which is not planned")
	}
	all := make([]Content, 0, len(listed))
	for _, object := range listed {
		source, content := d.readOne(ctx, app.Namespace, object)
		all = append(all, Content{source: source, object: content})
	}
	return all
}

// DryRun returns what would be written or deleted beside a copy, which is that of a dry run; without contents, what
// would be deleted of all that the copy lists.
func (q *MemberQueue) DryRun(ctx context.Context, app, copied *v1.EcommerceApp, all []Content) []DryRunResult {
	p := pass{MemberQueue: q, app: app, copied: copied, readOnly: true}
	listed, found := make([]v1.PropagatedObject, 0, len(all)), make([]DryRunResult, 0, len(all))
	for _, content := range all {
		listed = append(listed, content.source.PropagatedObject)
		change, err := p.dryRunWrite(ctx, content)
		found = append(found, DryRunResult{Object: content.source.PropagatedObject, Change: change, Err: err})
	}
	leftover := Leftover(copied, listed)
	if len(listed) > 0 && revisions.MayReturn(app) {
		leftover = nil
	}
	for _, object := range leftover {
		change, err := p.dryRunPrune(ctx, object)
		found = append(found, DryRunResult{Object: object, Change: change, Err: err})
	}
	return found
}

func (p *pass) dryRunWrite(ctx context.Context, content Content) (*v1.PendingChange, error) {
	source := content.source
	switch {
	case source.Reason == v1.ReasonNotChecked:
		return nil, fmt.Errorf("propagating %s: %w", source, errNotRead)
	case !source.IsReadable():
		condition := conditionOf(p.app.Namespace, []state.Source{source})
		return nil, &apierror.SpecError{Reason: condition.Reason, Err: errors.New(condition.Message)}
	}
	_, action, err := p.write(ctx, content.object)
	if err != nil || action == "" {
		return nil, err
	}
	return &v1.PendingChange{Kind: string(source.Kind), Name: source.Name, Action: action}, nil
}

// dryRunPrune returns the deletion of an object, which another copy that owns it prevents.
func (p *pass) dryRunPrune(ctx context.Context, object v1.PropagatedObject) (*v1.PendingChange, error) {
	live, err := p.ours(ctx, object)
	if err != nil || live == nil || len(others(live, p.copied)) > 0 {
		return nil, err
	}
	return &v1.PendingChange{Kind: string(object.Kind), Name: object.Name, Action: v1.PendingDelete}, nil
}
