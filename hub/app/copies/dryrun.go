package copies

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/spoke/apply"
)

// errLeaving means that a member leaves the fleet.
var errLeaving = errors.New("the member leaves the fleet")

// DryRunResult holds what would be written of a copy.
type DryRunResult struct {
	// Namespace and Changed are the changes of the namespace and of the copy; nil if there is none.
	Namespace, Changed *v1.PendingChange
	// Copy is the copy as it would be stored, or as it is if it would be deleted; nil if there
	// would be none.
	Copy *v1.EcommerceApp
	// ManagedBy is the process that reconciles the copy.
	ManagedBy v1.ManagedByMode
}

// DryRun returns what would be written of an application's copy in the member, also while that is
// paused. The member's API server answers dry runs; nothing is written. The status of the
// application is that of the decision about it, and its UID is not empty.
func (m *MemberQueue) DryRun(ctx context.Context, app *v1.EcommerceApp) (DryRunResult, error) {
	found := DryRunResult{ManagedBy: m.managedBy}
	t := m.stored(app)
	if t.deletes() {
		return m.dryRunDeletion(ctx, t, found)
	}
	c, err := m.read(ctx, t)
	if err == nil && c == nil {
		err = errLeaving
	}
	if err == nil {
		err = m.assess(ctx, t, c, false)
	}
	if err == nil {
		c.intent, err = m.intentFor(app, *c.facts, c.live)
	}
	if err != nil {
		return found, err
	}
	request, err := m.copyRequest(ctx, t, c)
	if err != nil {
		return found, err
	}
	if c.live == nil {
		absent, err := m.lacksNamespace(ctx, app.Namespace)
		if err != nil {
			return found, err
		}
		if absent {
			return m.dryRunNamespace(ctx, c.intent, found)
		}
	}
	result, err := m.dryRunApplier().Apply(ctx, request)
	if err != nil {
		return found, fmt.Errorf("writing the copy: %w", err)
	}
	found.Changed, found.Copy = result.Change, c.live
	if result.Object != nil {
		if found.Copy, err = typed(result.Object); err != nil {
			return found, err
		}
	}
	return found, m.describeUpdate(&found, c)
}

// describeUpdate lists the fields of the spec that an update of the copy changes, if there are any,
// and not those by which the hub recognises its copies.
func (m *MemberQueue) describeUpdate(found *DryRunResult, c *intended) error {
	if found.Changed == nil || found.Changed.Action != v1.PendingUpdate || c.live == nil {
		return nil
	}
	described, err := copyChange(found.Copy, c.live)
	if err == nil && len(described) > 0 {
		found.Changed = &described[0]
	}
	return err
}

// dryRunDeletion returns what would be deleted of a copy.
func (m *MemberQueue) dryRunDeletion(ctx context.Context, t *task, found DryRunResult) (DryRunResult, error) {
	app := t.App
	live := &v1.EcommerceApp{}
	err := m.cluster.GetClient().Get(ctx, keyOf(app), live)
	if apierrors.IsNotFound(err) || err == nil && (!owned(app)(live) || live.DeletionTimestamp != nil) {
		return found, nil
	}
	if err != nil {
		return found, fmt.Errorf("reading the copy: %w", err)
	}
	if err := m.assessCopy(ctx, t, live, nil); err != nil {
		return found, err
	}
	if err := m.dryRunApplier().Delete(ctx, live, metav1.DeletePropagationBackground); err != nil {
		return found, fmt.Errorf("deleting the copy: %w", err)
	}
	found.Copy = live
	found.Changed = &v1.PendingChange{Kind: "EcommerceApp", Name: app.Name, Action: v1.PendingDelete}
	return found, nil
}

// lacksNamespace reports whether a namespace does not exist, by a request to the API server.
func (m *MemberQueue) lacksNamespace(ctx context.Context, name string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, m.options.CallTimeout)
	defer cancel()
	err := m.cluster.GetAPIReader().Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{})
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading the namespace: %w", err)
	}
	return err != nil, nil
}

// dryRunNamespace returns the changes of a copy whose namespace does not exist. The API server
// accepts nothing in it, so that it completes and validates the copy in the hub's own namespace.
func (m *MemberQueue) dryRunNamespace(ctx context.Context, intent *v1.EcommerceApp, found DryRunResult) (DryRunResult, error) {
	ctx, cancel := context.WithTimeout(ctx, m.options.CallTimeout)
	defer cancel()
	dry := apply.DryRunClient(m.cluster)
	if err := dry.Create(ctx, namespaceOf(intent.Namespace), client.FieldOwner(v1.HubFieldManager)); err != nil {
		return found, fmt.Errorf("creating the namespace: %w", err)
	}
	elsewhere := intent.DeepCopy()
	elsewhere.Namespace, elsewhere.Name, elsewhere.GenerateName = config.Namespace, "", "plan-"
	if err := dry.Create(ctx, elsewhere, client.FieldOwner(v1.HubFieldManager)); err != nil {
		return found, fmt.Errorf("creating the copy: %w", err)
	}
	elsewhere.Namespace, elsewhere.Name, elsewhere.GenerateName = intent.Namespace, intent.Name, ""
	found.Namespace = &v1.PendingChange{Kind: "Namespace", Name: intent.Namespace, Action: v1.PendingCreate}
	found.Changed = &v1.PendingChange{Kind: "EcommerceApp", Name: intent.Name, Action: v1.PendingCreate}
	found.Copy = elsewhere
	return found, nil
}

// dryRunApplier returns an Applier that makes dry runs.
func (m *MemberQueue) dryRunApplier() *apply.Applier {
	return apply.New(apply.Options{
		Client: apply.DryRunClient(m.cluster), Reader: m.cluster.GetAPIReader(),
		FieldManager: v1.HubFieldManager, Timeout: m.options.CallTimeout, DryRun: true,
	})
}

// typed returns a copy as the API server answered it.
func typed(answer *unstructured.Unstructured) (*v1.EcommerceApp, error) {
	out := &v1.EcommerceApp{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(answer.Object, out); err != nil {
		return nil, fmt.Errorf("decoding the copy: %w", err)
	}
	return out, nil
}
