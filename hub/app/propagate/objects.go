package propagate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// helmRelease is the type of the Secrets in which Helm keeps its releases.
const helmRelease corev1.SecretType = "helm.sh/release.v1"

// Object is a Secret or a ConfigMap.
type Object interface {
	metav1.Object
	runtime.Object
}

// empty returns an object of a kind, to read into.
func empty(kind v1.PropagatedKind) Object {
	if kind == v1.PropagatedConfigMap {
		return &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: string(kind)}}
	}
	return &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: string(v1.PropagatedSecret)}}
}

// refOf returns the kind and the name of an object, which lacks its kind when it was read.
func refOf(o Object) v1.PropagatedObject {
	if _, is := o.(*corev1.ConfigMap); is {
		return v1.PropagatedObject{Kind: v1.PropagatedConfigMap, Name: o.GetName()}
	}
	return v1.PropagatedObject{Kind: v1.PropagatedSecret, Name: o.GetName()}
}

// refused returns why an object must not be copied to members; empty if it may.
func refused(source Object) string {
	secret, ok := source.(*corev1.Secret)
	if !ok {
		return ""
	}
	for _, label := range []string{v1.MemberClusterLabel, v1.CloudAccountLabel} {
		if _, has := secret.Labels[label]; has {
			return "Secrets with the label " + label + " are credentials of the hub, and not copied"
		}
	}
	switch secret.Type {
	case corev1.SecretTypeServiceAccountToken, corev1.SecretTypeBootstrapToken, helmRelease:
		return "Secrets of type " + string(secret.Type) + " are not copied"
	default:
		return ""
	}
}

// content is the part of an object that is copied.
type content struct {
	Type corev1.SecretType
	Data map[string][]byte
	Text map[string]string
}

func contentOf(o Object) content {
	switch object := o.(type) {
	case *corev1.Secret:
		return content{Type: typeOf(object), Data: object.Data}
	case *corev1.ConfigMap:
		return content{Data: object.BinaryData, Text: object.Data}
	default:
		return content{}
	}
}

// typeOf returns the type of a Secret, which cannot be changed; empty for a ConfigMap.
func typeOf(o Object) corev1.SecretType {
	secret, ok := o.(*corev1.Secret)
	if !ok {
		return ""
	}
	if secret.Type == "" {
		return corev1.SecretTypeOpaque // The API server's default.
	}
	return secret.Type
}

// versionOf returns a hash of the content of an object, in lower-case hexadecimal.
func versionOf(source Object) (string, error) {
	raw, err := json.Marshal(contentOf(source)) // The keys of maps are sorted.
	if err != nil {
		return "", fmt.Errorf("encoding %q: %w", source.GetName(), err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}

// forCopy returns the object that the hub writes in a member: the content of source, owned by a copy
// there and by the copies that own the live object already, which is nil if there is none.
func forCopy(source Object, copied *v1.EcommerceApp, live Object) Object {
	var out Object
	switch object := source.(type) {
	case *corev1.ConfigMap:
		next := empty(v1.PropagatedConfigMap).(*corev1.ConfigMap)
		next.Data, next.BinaryData = object.Data, object.BinaryData
		out = next
	case *corev1.Secret:
		next := empty(v1.PropagatedSecret).(*corev1.Secret)
		next.Type, next.Data = typeOf(object), object.Data
		out = next
	}
	out.SetNamespace(copied.Namespace)
	out.SetName(source.GetName())
	out.SetLabels(map[string]string{
		v1.ManagedByLabel: v1.ManagedBy, v1.ClusterLabel: copied.Labels[v1.ClusterLabel], v1.PropagatedLabel: isPropagated,
	})
	owners := []metav1.OwnerReference{{
		APIVersion: v1.GroupVersion.String(), Kind: "EcommerceApp", Name: copied.Name, UID: copied.UID,
	}}
	if live != nil {
		owners = append(owners, others(live, copied)...)
	}
	slices.SortFunc(owners, func(a, b metav1.OwnerReference) int { return strings.Compare(string(a.UID), string(b.UID)) })
	out.SetOwnerReferences(owners)
	return out
}

// isPropagated is the value of v1.PropagatedLabel.
const isPropagated = "true"

// isOurs reports whether the hub wrote an object in a member.
func isOurs(live metav1.Object) bool {
	return live.GetLabels()[v1.ManagedByLabel] == v1.ManagedBy && live.GetLabels()[v1.PropagatedLabel] == isPropagated
}

// owners returns the references to the copies that own an object.
func owners(live metav1.Object) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(live.GetOwnerReferences()), func(owner metav1.OwnerReference) bool {
		return owner.APIVersion != v1.GroupVersion.String() || owner.Kind != "EcommerceApp"
	})
}

// others returns the references to the copies that own an object beside the given one. One with its
// name is not among them: it no longer exists.
func others(live metav1.Object, copied *v1.EcommerceApp) []metav1.OwnerReference {
	return slices.DeleteFunc(owners(live), func(owner metav1.OwnerReference) bool { return owner.Name == copied.Name })
}

// sameContent reports whether two objects have the same type and data.
func sameContent(a, b Object) bool {
	return equality.Semantic.DeepEqual(contentOf(a), contentOf(b))
}

// matches reports whether a live object needs no write to be as intended.
func matches(live, intent Object) bool {
	for key, value := range intent.GetLabels() {
		if live.GetLabels()[key] != value {
			return false
		}
	}
	for _, owner := range intent.GetOwnerReferences() {
		if !slices.ContainsFunc(live.GetOwnerReferences(), func(has metav1.OwnerReference) bool { return has.UID == owner.UID }) {
			return false
		}
	}
	return sameContent(live, intent)
}

// actionFor returns what makes an object in a member, nil if there is none, as intended; nothing if it is.
func actionFor(live, intent Object) (v1.PendingAction, error) {
	if live == nil {
		return v1.PendingCreate, nil
	}
	if !isOurs(live) {
		var differences []string
		if !sameContent(live, intent) {
			differences = []string{"data"}
		}
		if err := apply.Adopt(live, component.KeyOf(intent), differences); err != nil {
			return "", err
		}
	}
	switch {
	case live.GetDeletionTimestamp() != nil:
		return "", apierrors.NewConflict(schema.GroupResource{Resource: string(refOf(live).Kind)}, live.GetName(), errTerminating)
	case matches(live, intent):
		return "", nil
	case typeOf(live) != typeOf(intent):
		return v1.PendingRecreate, nil // It cannot be changed.
	default:
		return v1.PendingUpdate, nil
	}
}

var errTerminating = errors.New("it is being deleted")

// disowned returns an object that the hub wrote in a member without the reference to a copy.
func disowned(live Object, copied *v1.EcommerceApp) Object {
	intent := forCopy(live, copied, live)
	intent.SetOwnerReferences(others(live, copied))
	return intent
}

// maxRecorded bounds the objects that are read from the annotation of a copy.
const maxRecorded = 100

// Recorded returns the objects that the annotation of a copy lists. What is malformed does not count.
func Recorded(copied metav1.Object) []v1.PropagatedObject {
	var all []v1.PropagatedObject
	for text := range strings.SplitSeq(copied.GetAnnotations()[v1.PropagatedAnnotation], ",") {
		kind, name, ok := strings.Cut(text, "/")
		o := v1.PropagatedObject{Kind: v1.PropagatedKind(kind), Name: name}
		known := o.Kind == v1.PropagatedSecret || o.Kind == v1.PropagatedConfigMap
		if ok && known && name != "" && len(all) < maxRecorded {
			all = append(all, o)
		}
	}
	return all
}

// Record returns the value of the annotation of a copy that lists objects: sorted, without duplicates.
func Record(objects ...v1.PropagatedObject) string {
	names := map[string]bool{}
	for _, o := range objects {
		names[o.String()] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), ",")
}

// Leftover returns the objects that a copy lists and a spec does not.
func Leftover(copied metav1.Object, listed []v1.PropagatedObject) []v1.PropagatedObject {
	return slices.DeleteFunc(Recorded(copied), func(o v1.PropagatedObject) bool { return slices.Contains(listed, o) })
}
