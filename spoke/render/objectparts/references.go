package objectparts

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// References collects the Secrets and ConfigMaps of users that objects of a namespace refer to.
type References struct {
	namespace string
	keys      []component.Key
}

// NewReferences returns what pods with the user's settings refer to.
func NewReferences(namespace string, s v1.PodSettings) *References {
	r := &References{namespace: namespace}
	for i := range s.ImagePullSecrets {
		r.AddSecret(&s.ImagePullSecrets[i])
	}
	return r
}

// AddSecret adds a Secret, unless the reference is nil.
func (r *References) AddSecret(ref *v1.LocalSecretReference) {
	if ref != nil {
		r.add(v1.PropagatedSecret, ref.Name, nil)
	}
}

// AddEnv adds the sources of environment variables, unless they are optional.
func (r *References) AddEnv(env []v1.EnvVar, from []v1.EnvFromSource) {
	for _, e := range env {
		if e.ValueFrom == nil {
			continue
		}
		if ref := e.ValueFrom.SecretKeyRef; ref != nil {
			r.add(v1.PropagatedSecret, ref.Name, ref.Optional)
		}
		if ref := e.ValueFrom.ConfigMapKeyRef; ref != nil {
			r.add(v1.PropagatedConfigMap, ref.Name, ref.Optional)
		}
	}
	for _, source := range from {
		if ref := source.SecretRef; ref != nil {
			r.add(v1.PropagatedSecret, ref.Name, ref.Optional)
		}
		if ref := source.ConfigMapRef; ref != nil {
			r.add(v1.PropagatedConfigMap, ref.Name, ref.Optional)
		}
	}
}

func (r *References) add(kind v1.PropagatedKind, name string, optional *bool) {
	if optional == nil || !*optional {
		r.keys = append(r.keys, component.Key{GroupKind: schema.GroupKind{Kind: string(kind)}, Namespace: r.namespace, Name: name})
	}
}

// Keys returns what was added, sorted by kind and name, each once.
func (r *References) Keys() []component.Key {
	slices.SortFunc(r.keys, func(a, b component.Key) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(r.keys)
}
