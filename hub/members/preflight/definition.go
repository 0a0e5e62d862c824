package preflight

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// establishInterval is how often the cluster is asked whether it serves a new kind.
const establishInterval = 100 * time.Millisecond

// InstallDefinition makes the cluster serve the kind of a CustomResourceDefinition
// as it is given, and waits until it does or the context ends. If the cluster has
// this very definition, it writes nothing.
func InstallDefinition(ctx context.Context, c client.Client, definition *unstructured.Unstructured) error {
	intent := definition.DeepCopy()
	hash, err := hashOf(definition)
	if err != nil {
		return err
	}
	annotations := intent.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1.SpecHashAnnotation] = hash
	intent.SetAnnotations(annotations)

	live, err := getDefinition(ctx, c, intent)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err != nil || live.GetAnnotations()[v1.SpecHashAnnotation] != hash {
		err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(intent), client.FieldOwner(v1.HubFieldManager), client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("applying definition %q: %w", intent.GetName(), err)
		}
	}
	return awaitServed(ctx, c, intent)
}

func getDefinition(ctx context.Context, c client.Client, definition *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(definition.GroupVersionKind())
	if err := c.Get(ctx, client.ObjectKeyFromObject(definition), live); err != nil {
		return nil, fmt.Errorf("getting definition %q: %w", definition.GetName(), err)
	}
	return live, nil
}

// awaitServed waits until the definition is established and its kind is found by
// discovery, which follows a moment later.
func awaitServed(ctx context.Context, c client.Client, definition *unstructured.Unstructured) error {
	kind, err := kindOf(definition)
	if err != nil {
		return err
	}
	err = wait.PollUntilContextCancel(ctx, establishInterval, true, func(ctx context.Context) (bool, error) {
		live, err := getDefinition(ctx, c, definition)
		if err != nil {
			return false, err
		}
		if !established(live) {
			return false, nil
		}
		_, err = c.RESTMapper().RESTMapping(kind)
		if meta.IsNoMatchError(err) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("waiting until %s is served: %w", kind, err)
	}
	return nil
}

func established(definition *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	for _, each := range conditions {
		condition, _ := each.(map[string]any)
		if condition["type"] == "Established" && condition["status"] == "True" {
			return true
		}
	}
	return false
}

func kindOf(definition *unstructured.Unstructured) (schema.GroupKind, error) {
	group, _, err := unstructured.NestedString(definition.Object, "spec", "group")
	if err != nil {
		return schema.GroupKind{}, fmt.Errorf("reading definition %q: %w", definition.GetName(), err)
	}
	kind, _, err := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	if err != nil {
		return schema.GroupKind{}, fmt.Errorf("reading definition %q: %w", definition.GetName(), err)
	}
	return schema.GroupKind{Group: group, Kind: kind}, nil
}

func hashOf(definition *unstructured.Unstructured) (string, error) {
	raw, err := json.Marshal(definition.Object) // Keys of maps come sorted.
	if err != nil {
		return "", fmt.Errorf("encoding definition %q: %w", definition.GetName(), err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}
