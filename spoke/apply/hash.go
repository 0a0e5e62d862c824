package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// Hash returns the SHA-256 of an intent in lower-case hexadecimal. It covers everything
// but the hash annotation, and does not depend on the order of maps. It fails if the
// object cannot be converted to JSON.
func Hash(intent component.Resource) (string, error) {
	content, err := contentOf(intent)
	if err != nil {
		return "", err
	}
	return hashOf(content)
}

// Stamp sets the hash annotation of an intent, and returns its content with it, for Request.Content.
func Stamp(intent component.Resource) (content map[string]any, err error) {
	if content, err = contentOf(intent); err != nil {
		return nil, err
	}
	hash, err := hashOf(content)
	if err != nil {
		return nil, err
	}
	annotations := maps.Clone(intent.GetAnnotations())
	if annotations == nil {
		annotations = make(map[string]string, 1)
	}
	annotations[v1.SpecHashAnnotation] = hash
	intent.SetAnnotations(annotations)
	(&unstructured.Unstructured{Object: content}).SetAnnotations(annotations)
	return content, nil
}

// contentOf returns the unstructured content of an object, without status and server-side
// metadata.
func contentOf(r component.Resource) (map[string]any, error) {
	content, err := withoutManagers(r)
	if err != nil {
		return nil, err
	}
	delete(content, "status")
	if metadata, ok := content["metadata"].(map[string]any); ok {
		for _, key := range []string{"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
			"generation", "managedFields", "resourceVersion", "selfLink", "uid"} {
			delete(metadata, key)
		}
	}
	dropNulls(content)
	normalizeTemplates(content)
	setZeros(r, content)
	return content, nil
}

// withoutManagers returns a copy of an object's content without its managed fields, which would be
// converted only to be dropped. It does not change the object, which may be in a cache.
func withoutManagers(r component.Resource) (map[string]any, error) {
	if u, ok := r.(*unstructured.Unstructured); ok {
		content := maps.Clone(u.Object)
		if metadata, ok := content["metadata"].(map[string]any); ok {
			metadata = maps.Clone(metadata)
			delete(metadata, "managedFields")
			content["metadata"] = metadata
		}
		return runtime.DeepCopyJSON(content), nil
	}
	if value := reflect.ValueOf(r); len(r.GetManagedFields()) > 0 && value.Kind() == reflect.Pointer {
		shallow := reflect.New(value.Type().Elem())
		shallow.Elem().Set(value.Elem())
		if other, ok := reflect.TypeAssert[component.Resource](shallow); ok {
			other.SetManagedFields(nil)
			r = other
		}
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r)
	if err != nil {
		return nil, fmt.Errorf("converting %T %q: %w", r, r.GetName(), err)
	}
	return content, nil
}

// normalizeTemplates removes from the claim templates of a StatefulSet the fields that
// typed and unstructured objects encode differently.
func normalizeTemplates(content map[string]any) {
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

// dropNulls removes null fields, which the API server does not store.
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

// hashOf hashes content without its hash annotation, and leaves content unchanged.
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
	return digest(content)
}

// digest hashes content, its hash annotation included.
func digest(content map[string]any) (string, error) {
	// encoding/json sorts the keys of maps, so the encoding is canonical.
	canonical, err := json.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("encoding an intent: %w", err)
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), nil
}
