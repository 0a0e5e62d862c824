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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// establishInterval is how often the cluster is asked whether it serves a new kind.
const establishInterval = 100 * time.Millisecond

// Definitions are the CustomResourceDefinitions that a cluster must have as they are
// given here. A definition that the cluster has is compared by the hash that was
// written with it, and nothing is written while that is the same.
type Definitions []*unstructured.Unstructured

// DefinitionFacts name the definitions that a cluster does not have for good, in the
// order of Definitions.
type DefinitionFacts struct {
	// Absent ones do not exist; all objects of their kinds are gone.
	Absent []string
	// Deleting ones are gone when the last object of their kind is: until then objects
	// can be read and deleted, and none can be made.
	Deleting []string
	// Outdated ones lack fields that are given here; see Verify.
	Outdated []string
}

// Install makes the cluster have the definitions, and waits until it serves their
// kinds or the context ends. What is being deleted is left to it and told; nothing is
// absent afterwards. An error about one definition is a *DefinitionError.
func (d Definitions) Install(ctx context.Context, c client.Client) (DefinitionFacts, error) {
	facts, err := d.compare(ctx, c, true)
	if err != nil {
		return DefinitionFacts{}, err
	}
	for _, definition := range d {
		if err := awaitServed(ctx, c, definition); err != nil {
			return DefinitionFacts{}, &DefinitionError{Name: definition.GetName(), Err: err}
		}
	}
	return facts, nil
}

// Check tells what became of the definitions, with one small request for each. It
// brings up to date what differs and makes none that is absent. An error about one
// definition is a *DefinitionError.
func (d Definitions) Check(ctx context.Context, c client.Client) (DefinitionFacts, error) {
	return d.compare(ctx, c, false)
}

// Verify tells what the cluster has of the definitions, and writes nothing: they are
// somebody else's there. One that knows more than is given here is newer, and fine. An
// error about one definition is a *DefinitionError.
func (d Definitions) Verify(ctx context.Context, c client.Reader) (DefinitionFacts, error) {
	facts := DefinitionFacts{}
	for _, definition := range d {
		name := definition.GetName()
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(definition.GroupVersionKind())
		err := c.Get(ctx, client.ObjectKey{Name: name}, live)
		switch {
		case apierrors.IsNotFound(err):
			facts.Absent = append(facts.Absent, name)
		case err != nil:
			return DefinitionFacts{}, &DefinitionError{Name: name, Err: fmt.Errorf("getting: %w", err)}
		case live.GetDeletionTimestamp() != nil:
			facts.Deleting = append(facts.Deleting, name)
		case !knows(live, definition):
			facts.Outdated = append(facts.Outdated, name)
		}
	}
	return facts, nil
}

func (d Definitions) compare(ctx context.Context, c client.Client, install bool) (DefinitionFacts, error) {
	facts := DefinitionFacts{}
	for _, definition := range d {
		name := definition.GetName()
		found, err := compareDefinition(ctx, c, definition, install)
		switch {
		case err != nil:
			return DefinitionFacts{}, &DefinitionError{Name: name, Err: err}
		case found == absent:
			facts.Absent = append(facts.Absent, name)
		case found == deleting:
			facts.Deleting = append(facts.Deleting, name)
		}
	}
	return facts, nil
}

// DefinitionError tells which definition could not be read, written or served.
type DefinitionError struct {
	Name string
	Err  error
}

// Error names the definition and the cause.
func (e *DefinitionError) Error() string { return fmt.Sprintf("definition %q: %v", e.Name, e.Err) }

// Unwrap returns the cause.
func (e *DefinitionError) Unwrap() error { return e.Err }

// presence is what a cluster has of a definition.
type presence int

const (
	present presence = iota
	absent
	deleting
)

// compareDefinition looks at the definition's metadata alone, writes the definition
// where it differs and, if asked to install, where it is absent.
func compareDefinition(ctx context.Context, c client.Client, definition *unstructured.Unstructured, install bool) (presence, error) {
	hash, err := hashOf(definition)
	if err != nil {
		return absent, err
	}
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(definition.GroupVersionKind())
	err = c.Get(ctx, client.ObjectKeyFromObject(definition), live)
	switch {
	case apierrors.IsNotFound(err):
		if !install {
			return absent, nil
		}
	case err != nil:
		return absent, fmt.Errorf("getting: %w", err)
	case live.GetDeletionTimestamp() != nil:
		return deleting, nil
	case live.GetAnnotations()[v1.SpecHashAnnotation] == hash:
		return present, nil
	}
	return present, applyDefinition(ctx, c, definition, hash)
}

func applyDefinition(ctx context.Context, c client.Client, definition *unstructured.Unstructured, hash string) error {
	intent := definition.DeepCopy()
	annotations := intent.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1.SpecHashAnnotation] = hash
	intent.SetAnnotations(annotations)
	err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(intent), client.FieldOwner(v1.HubFieldManager), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("applying: %w", err)
	}
	return nil
}

func getDefinition(ctx context.Context, c client.Client, definition *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(definition.GroupVersionKind())
	if err := c.Get(ctx, client.ObjectKeyFromObject(definition), live); err != nil {
		return nil, fmt.Errorf("getting: %w", err)
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
		return schema.GroupKind{}, fmt.Errorf("reading the group: %w", err)
	}
	kind, _, err := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	if err != nil {
		return schema.GroupKind{}, fmt.Errorf("reading the kind: %w", err)
	}
	return schema.GroupKind{Group: group, Kind: kind}, nil
}

func hashOf(definition *unstructured.Unstructured) (string, error) {
	raw, err := json.Marshal(definition.Object) // Keys of maps come sorted.
	if err != nil {
		return "", fmt.Errorf("encoding: %w", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}
