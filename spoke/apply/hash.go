package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// Hash returns the SHA-256 of an intent, in lower-case hex of 64 characters. It
// covers all that the intent says but the hash annotation itself, and does not
// depend on the order of maps. An object that has no JSON form is an error.
func Hash(intent component.Resource) (string, error) {
	content, err := contentOf(intent)
	if err != nil {
		return "", err
	}
	return hashOf(content)
}

// Stamp writes the hash of an intent into its annotation.
func Stamp(intent component.Resource) error {
	hash, err := Hash(intent)
	if err != nil {
		return err
	}
	annotations := maps.Clone(intent.GetAnnotations())
	if annotations == nil {
		annotations = make(map[string]string, 1)
	}
	annotations[v1.SpecHashAnnotation] = hash
	intent.SetAnnotations(annotations)
	return nil
}

// contentOf returns what an object says in the form of JSON, without what only
// servers write: status and the metadata that is not part of an intent.
func contentOf(r component.Resource) (map[string]any, error) {
	var content map[string]any
	if u, ok := r.(*unstructured.Unstructured); ok {
		content = u.DeepCopy().Object
	} else {
		converted, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r)
		if err != nil {
			return nil, fmt.Errorf("converting %T %q: %w", r, r.GetName(), err)
		}
		content = converted
	}
	delete(content, "status")
	if metadata, ok := content["metadata"].(map[string]any); ok {
		for _, key := range []string{"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
			"generation", "managedFields", "resourceVersion", "selfLink", "uid"} {
			delete(metadata, key)
		}
	}
	dropNulls(content)
	bareTemplates(content)
	return content, nil
}

// bareTemplates removes from the claim templates of a StatefulSet what only one
// of the encodings of an object keeps: the kind of what is nested.
func bareTemplates(content map[string]any) {
	spec, _ := content["spec"].(map[string]any)
	templates, _ := spec["volumeClaimTemplates"].([]any)
	for _, template := range templates {
		if claim, ok := template.(map[string]any); ok {
			delete(claim, "apiVersion")
			delete(claim, "kind")
			delete(claim, "status")
		}
	}
}

// dropNulls removes null fields, which say nothing and which an API server does not keep.
func dropNulls(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, field := range v {
			if field == nil {
				delete(v, key)
				continue
			}
			dropNulls(field)
		}
	case []any:
		for _, item := range v {
			dropNulls(item)
		}
	}
}

// hashOf hashes content without its hash annotation; it leaves content as it was.
func hashOf(content map[string]any) (string, error) {
	if metadata, ok := content["metadata"].(map[string]any); ok {
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			if hash, stamped := annotations[v1.SpecHashAnnotation]; stamped {
				delete(annotations, v1.SpecHashAnnotation)
				defer func() { annotations[v1.SpecHashAnnotation] = hash }()
			}
			if len(annotations) == 0 {
				delete(metadata, "annotations")
				defer func() { metadata["annotations"] = annotations }()
			}
		}
	}
	// encoding/json writes the keys of maps in order, which makes this canonical.
	canonical, err := json.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("encoding an intent: %w", err)
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), nil
}
