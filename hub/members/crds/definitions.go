package crds

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

// establishInterval is how often to check whether the cluster serves a new kind.
const establishInterval = 100 * time.Millisecond

// Definitions are the CustomResourceDefinitions that a cluster must have. An installed
// definition is compared by the hash in its annotation, and written only if that differs. A
// newer hub wrote a definition with additional fields: it is left alone, so that a hub that is
// rolled back, or was replaced, takes no fields away from objects that have them.
type Definitions []*unstructured.Unstructured

// DefinitionFacts lists the definitions that are missing, being deleted or outdated in a
// cluster, in the order of Definitions.
type DefinitionFacts struct {
	// Absent definitions do not exist; all objects of their kinds are gone.
	Absent []string
	// Deleting definitions are removed after the last object of their kind. Until then
	// objects can be read and deleted, but not created.
	Deleting []string
	// Outdated definitions lack fields; see Verify.
	Outdated []string
}

// Install creates or updates the definitions, and blocks until the cluster serves their
// kinds or the context ends. Definitions that are being deleted are left alone and
// reported. An error about one definition is a *DefinitionError.
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

// Check compares the definitions, with one small request for each, and updates those that
// differ. It creates none. An error about one definition is a *DefinitionError.
func (d Definitions) Check(ctx context.Context, c client.Client) (DefinitionFacts, error) {
	return d.compare(ctx, c, false)
}

// Verify compares the definitions without writing, for clusters in which an agent owns
// them. A definition with additional fields is newer and not reported. An error about one
// definition is a *DefinitionError.
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
		case !hasFields(live, definition):
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

// DefinitionError names the definition that could not be read, written or served.
type DefinitionError struct {
	Name string
	Err  error
}

// Error names the definition and the cause.
func (e *DefinitionError) Error() string { return fmt.Sprintf("definition %q: %v", e.Name, e.Err) }

// Unwrap returns the cause.
func (e *DefinitionError) Unwrap() error { return e.Err }

// presence is the state of a definition in a cluster.
type presence int

const (
	present presence = iota
	absent
	deleting
)

// compareDefinition reads the metadata of a definition. It writes the definition if it
// differs and, with install, if it is absent.
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
	if live.GetResourceVersion() == "" {
		return present, applyDefinition(ctx, c, definition, hash)
	}
	return present, replaceDefinition(ctx, c, definition, hash)
}

// replaceDefinition writes a definition over the one that the cluster has, unless that one is
// newer: it has all fields of the definition and more.
func replaceDefinition(ctx context.Context, c client.Client, definition *unstructured.Unstructured, hash string) error {
	live, err := getDefinition(ctx, c, definition)
	if err != nil {
		return err
	}
	if IsNewer(live, definition) {
		return nil
	}
	definition = definition.DeepCopy()
	definition.SetResourceVersion(live.GetResourceVersion())
	return applyDefinition(ctx, c, definition, hash)
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

// awaitServed blocks until the definition is established and discovery lists its kind,
// which follows a moment later.
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
