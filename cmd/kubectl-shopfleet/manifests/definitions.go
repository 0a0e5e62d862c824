package manifests

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
)

// Why definitions are not as they should be.
var (
	// ErrNotEstablished tells that a definition was applied and is not served.
	ErrNotEstablished = errors.New("not established")
	// ErrTerminating tells that an object is still being deleted.
	ErrTerminating = errors.New("still being deleted")
	// ErrInUse tells that a definition has objects.
	ErrInUse = errors.New("it has objects")
)

const (
	// patience bounds the wait for a definition: a server under load takes some
	// seconds, and more to delete one.
	patience = 30 * time.Second
	glance   = 200 * time.Millisecond
)

// errLate is the cause of the end of a wait that took too long.
var errLate = errors.New("waited " + patience.String())

// poll repeats the check until it is true. It returns errLate after patience.
func poll(ctx context.Context, check func(context.Context) (bool, error)) error {
	bounded, cancel := context.WithTimeoutCause(ctx, patience, errLate)
	defer cancel()
	err := wait.PollUntilContextCancel(bounded, glance, true, check)
	// A request may have ended with the wait: its error says less than the cause.
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(bounded), errLate) {
		return errLate
	}
	return err
}

// await waits until the definitions are served.
func (a applier) await(ctx context.Context, definitions []*unstructured.Unstructured) error {
	for _, definition := range definitions {
		if a.dryRun {
			continue
		}
		var why string
		err := poll(ctx, func(ctx context.Context) (bool, error) {
			live, err := a.read(ctx, definition)
			if err != nil || live == nil {
				return false, err
			}
			var established bool
			established, why = condition(live, "Established")
			return established, nil
		})
		if errors.Is(err, errLate) {
			return fmt.Errorf("definition %q: %w: %s", definition.GetName(), ErrNotEstablished, why)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// gone waits until an object that is being deleted is no more.
func (a applier) gone(ctx context.Context, object *unstructured.Unstructured) error {
	err := poll(ctx, func(ctx context.Context) (bool, error) {
		live, err := a.read(ctx, object)
		return live == nil, err
	})
	if errors.Is(err, errLate) {
		return hint.With(fmt.Errorf("%s: %w", Name(object), ErrTerminating),
			"It waits for what its finalizers name. See them: kubectl get "+Name(object)+" -o yaml, and run this command again when it is gone.")
	}
	return err
}

// Gone waits until the plan's objects, which were removed, are no more.
func (p Plan) Gone(ctx context.Context, c client.Client) error {
	a := applier{client: c}
	for _, object := range p.Objects {
		if err := a.gone(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// condition reads a condition of an object's status, and why it is not true.
func condition(object *unstructured.Unstructured, kind string) (bool, string) {
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil {
		return false, err.Error()
	}
	for _, item := range conditions {
		fields, ok := item.(map[string]any)
		if !ok || fields["type"] != kind {
			continue
		}
		message, _ := fields["message"].(string)
		return fields["status"] == string(metav1.ConditionTrue), message
	}
	return false, "no condition " + kind
}

// CheckUnused refuses with ErrInUse when one of the plan's definitions has objects
// in the cluster: they would be deleted with it.
func (p Plan) CheckUnused(ctx context.Context, c client.Client) error {
	for _, definition := range p.Definitions().Objects {
		list, err := listOf(definition)
		if err != nil {
			return err
		}
		err = c.List(ctx, list, client.Limit(1))
		switch {
		case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("listing the objects of %s: %w", definition.GetName(), err)
		case len(list.Items) > 0:
			name := strings.TrimPrefix(list.Items[0].GetNamespace()+"/"+list.Items[0].GetName(), "/")
			return hint.With(fmt.Errorf("deleting %s: %w: %s", Name(definition), ErrInUse, name),
				"With a definition go all its objects, and what they run. Nothing was deleted. See them with kubectl get "+
					definition.GetName()+" -A, delete them while the process still runs, and come back.")
		}
	}
	return nil
}

// listOf is an empty list of the kind that a definition defines.
func listOf(definition *unstructured.Unstructured) (*unstructured.UnstructuredList, error) {
	group, _, err := unstructured.NestedString(definition.Object, "spec", "group")
	if err != nil {
		return nil, fmt.Errorf("reading the group of %q: %w", definition.GetName(), err)
	}
	kind, _, err := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	if err != nil {
		return nil, fmt.Errorf("reading the kind of %q: %w", definition.GetName(), err)
	}
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if err != nil {
		return nil, fmt.Errorf("reading the versions of %q: %w", definition.GetName(), err)
	}
	list := &unstructured.UnstructuredList{}
	for _, item := range versions {
		version, ok := item.(map[string]any)
		if name, _ := version["name"].(string); ok && version["storage"] == true {
			list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: name, Kind: kind + "List"})
		}
	}
	return list, nil
}
