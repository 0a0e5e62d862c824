package component

import (
	"encoding/json"
	"fmt"
	"hash"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// rendered describes the intent that a workload was last written from, as its annotation has it. Admission
// may store other images, annotations, replicas and claim templates than were applied, so that an intent is
// compared with the last one, and not with the fields of the live object.
type rendered struct {
	// images, annotations and fixed are hashes: of the images of the containers, of the annotations of the
	// pods, and of the fields of a StatefulSet that the API server does not let change.
	images, annotations, fixed string
	// replicas is the desired number; empty if an autoscaler has it.
	replicas string
	// inputs is a hash of the part of the spec that the pod template was rendered from, and version the version of
	// the renderer; empty if an earlier release wrote the workload.
	inputs, version string
}

// Record notes in the annotation of a workload what was rendered of it, by which version. Other objects stay as they
// are. So does what is noted of a pod template that stays.
func Record(object Object, version string) {
	for _, r := range []Resource{object.Resource, object.Instead} {
		noted, ok := renderedFrom(r)
		if !ok {
			continue
		}
		noted.inputs, noted.version = object.Inputs, version
		if was := object.Kept; was != nil && r == object.Resource {
			noted.images, noted.annotations, noted.inputs, noted.version = was.images, was.annotations, was.inputs, was.version
		}
		noted.record(r)
	}
}

// renderedFrom returns what was rendered of a workload, and false for other objects.
func renderedFrom(r Resource) (rendered, bool) {
	var replicas *int32
	noted := rendered{}
	switch w := r.(type) {
	case *appsv1.Deployment:
		replicas = w.Spec.Replicas
	case *appsv1.StatefulSet:
		replicas, noted.fixed = w.Spec.Replicas, fixedHash(w)
	default:
		return noted, false
	}
	template := templateOf(r)
	noted.images, noted.annotations = imagesHash(*template), annotationsHash(*template)
	if replicas != nil {
		noted.replicas = strconv.Itoa(int(*replicas))
	}
	return noted, true
}

// record sets the annotation of an object, whose annotations other objects may share.
func (r rendered) record(object metav1.Object) {
	annotations := maps.Clone(object.GetAnnotations())
	if annotations == nil {
		annotations = make(map[string]string, 1)
	}
	annotations[v1.RenderedAnnotation] = strings.Join([]string{r.images, r.annotations, r.fixed, r.replicas, r.inputs, r.version}, ".")
	object.SetAnnotations(annotations)
}

// renderedOf returns what was rendered of an object, and false if an earlier release wrote it.
func renderedOf(object metav1.Object) (rendered, bool) {
	text := object.GetAnnotations()[v1.RenderedAnnotation]
	if applied, ok := AppliedOf(object); ok {
		text = applied.Rendered
	}
	parts := strings.Split(text, ".")
	switch len(parts) {
	case 4: // An earlier release wrote it.
		return rendered{images: parts[0], annotations: parts[1], fixed: parts[2], replicas: parts[3]}, true
	case 6:
		return rendered{images: parts[0], annotations: parts[1], fixed: parts[2], replicas: parts[3], inputs: parts[4], version: parts[5]}, true
	default:
		return rendered{}, false
	}
}

func imagesHash(template corev1.PodTemplateSpec) string {
	return mapHash(ContainerImages(template))
}

func annotationsHash(template corev1.PodTemplateSpec) string { return mapHash(template.Annotations) }

func mapHash(all map[string]string) string {
	sum := fnv.New64a()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		_, _ = fmt.Fprintf(sum, "%q=%q;", key, all[key])
	}
	return encoded(sum)
}

// fixedHash returns the hash of the fields that Immutable compares.
func fixedHash(set *appsv1.StatefulSet) string {
	sum := fnv.New64a()
	encoder := json.NewEncoder(sum)
	fields := make([]any, 0, 3+4*len(set.Spec.VolumeClaimTemplates))
	fields = append(fields, set.Spec.Selector, set.Spec.ServiceName, set.Spec.PodManagementPolicy)
	for _, claim := range set.Spec.VolumeClaimTemplates {
		fields = append(fields, claim.Name, claim.Labels, claim.Annotations, claim.Spec)
	}
	for _, field := range fields {
		if encoder.Encode(field) != nil {
			return "" // The fields themselves are compared.
		}
	}
	return encoded(sum)
}

func encoded(sum hash.Hash64) string { return strconv.FormatUint(sum.Sum64(), 36) }

// sameImages reports whether a workload was last written with the desired images.
func sameImages(want, live half) bool {
	if was, ok := renderedOf(live.object); ok {
		return was.images == imagesHash(want.template)
	}
	return sameVersion(want.template, live.template)
}

// samePods reports whether a workload was last written with the desired annotations of its pods, such as
// the annotation of a restart.
func samePods(want, live half) bool {
	if was, ok := renderedOf(live.object); ok {
		return was.annotations == annotationsHash(want.template)
	}
	return sameAnnotations(want.template, live.template)
}

// sameReplicas reports whether a workload was last written with the desired number of pods.
func sameReplicas(want, live half) bool {
	if was, ok := renderedOf(live.object); ok && was.replicas != "" {
		return want.replicas == nil || was.replicas == strconv.Itoa(int(*want.replicas))
	}
	return want.replicas == nil || *want.replicas == valueOr(live.replicas, 1)
}

// sameFixed reports whether a StatefulSet was last written with the desired values of the fields that
// cannot change: what differs of them was stored so by the API server.
func sameFixed(want, live *appsv1.StatefulSet) bool {
	was, ok := renderedOf(live)
	to, noted := renderedOf(want)
	if ok && !noted {
		to.fixed = fixedHash(want)
	}
	return ok && was.fixed != "" && was.fixed == to.fixed
}

// keepFixed returns a copy of a StatefulSet with the values that the API server has stored of the fields
// that cannot change.
func keepFixed(want, live *appsv1.StatefulSet) *appsv1.StatefulSet {
	kept, stored := want.DeepCopy(), live.DeepCopy()
	kept.Spec.Selector, kept.Spec.ServiceName = stored.Spec.Selector, stored.Spec.ServiceName
	kept.Spec.PodManagementPolicy, kept.Spec.VolumeClaimTemplates = stored.Spec.PodManagementPolicy, stored.Spec.VolumeClaimTemplates
	return kept
}
