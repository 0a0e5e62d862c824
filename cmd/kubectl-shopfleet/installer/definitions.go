package installer

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

// Why a CRD cannot be applied or deleted.
var (
	// ErrNotEstablished is returned if a CRD was applied and is not served in time.
	ErrNotEstablished = errors.New("not established")
	// ErrTerminating is returned if an object is not deleted in time.
	ErrTerminating = errors.New("still being deleted")
	// ErrInUse is returned if a CRD has objects.
	ErrInUse = errors.New("the CRD has objects")
)

const (
	// pollTimeout bounds the waits of Apply. A server under load takes some seconds to
	// establish a CRD, and more to delete an object.
	pollTimeout = 30 * time.Second
	pollPeriod  = 200 * time.Millisecond
)

// errPollTimeout ends a poll at the deadline of its context.
var errPollTimeout = errors.New("timed out")

// poll repeats the check until it returns true. It returns errPollTimeout after the deadline of ctx.
func poll(ctx context.Context, check func(context.Context) (bool, error)) error {
	err := wait.PollUntilContextCancel(ctx, pollPeriod, true, check)
	// The error may come from a request that the deadline interrupted.
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errPollTimeout
	}
	return err
}

// await waits until the CRDs are served, for each at most pollTimeout.
func (a applier) await(ctx context.Context, definitions []*unstructured.Unstructured) error {
	for _, definition := range definitions {
		if a.dryRun {
			continue
		}
		if err := a.established(ctx, definition); err != nil {
			return err
		}
	}
	return nil
}

// established waits until a CRD is served, at most pollTimeout.
func (a applier) established(ctx context.Context, definition *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
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
	if errors.Is(err, errPollTimeout) {
		return fmt.Errorf("waiting for CRD %q: %w: %s", definition.GetName(), ErrNotEstablished, why)
	}
	return err
}

// goneSoon waits until an object that is being deleted is gone, at most pollTimeout.
func (a applier) goneSoon(ctx context.Context, object *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	return a.gone(ctx, object)
}

// gone waits until an object that is being deleted is gone. After the deadline of ctx it returns ErrTerminating.
func (a applier) gone(ctx context.Context, object *unstructured.Unstructured) error {
	err := poll(ctx, func(ctx context.Context) (bool, error) {
		live, err := a.read(ctx, object)
		return live == nil, err
	})
	if errors.Is(err, errPollTimeout) {
		return hint.With(fmt.Errorf("waiting for %s to be gone: %w", Name(object), ErrTerminating),
			"See its finalizers: kubectl get "+Name(object)+" -o yaml. Run this command again when the object is gone.")
	}
	return err
}

// Gone waits until the removed objects of the plan are gone. After the deadline of ctx it returns ErrTerminating.
func (p Plan) Gone(ctx context.Context, c client.Client) error {
	a := applier{client: c}
	for _, object := range p.Objects {
		if err := a.gone(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// condition reports whether a condition of an object is true, and its message.
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

// CheckUnused returns ErrInUse if a CRD of the plan has an object in the cluster,
// which would be deleted with it.
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
			return fmt.Errorf("listing the objects of CRD %q: %w", definition.GetName(), err)
		case len(list.Items) > 0:
			name := strings.TrimPrefix(list.Items[0].GetNamespace()+"/"+list.Items[0].GetName(), "/")
			return hint.With(fmt.Errorf("deleting %s: %w: %s", Name(definition), ErrInUse, name),
				"Nothing was deleted. List its objects: kubectl get "+definition.GetName()+" -A. "+
					"Deleting the CRD deletes them and what they run, so delete them first, while their controller still runs.")
		}
	}
	return nil
}

// listOf returns an empty list of the kind of a CRD.
func listOf(definition *unstructured.Unstructured) (*unstructured.UnstructuredList, error) {
	group, _, err := unstructured.NestedString(definition.Object, "spec", "group")
	if err != nil {
		return nil, fmt.Errorf("reading the group of CRD %q: %w", definition.GetName(), err)
	}
	kind, _, err := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	if err != nil {
		return nil, fmt.Errorf("reading the kind of CRD %q: %w", definition.GetName(), err)
	}
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if err != nil {
		return nil, fmt.Errorf("reading the versions of CRD %q: %w", definition.GetName(), err)
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
