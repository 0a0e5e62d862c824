package component

import (
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// appliedType is the FieldsType of the entry that holds an Applied.
const appliedType = "Applied"

// Applied is the record of the last apply that a cached object has in place of its managed fields
// and of the annotations of what was applied: a map for one value takes more memory than the rest of the metadata.
type Applied struct {
	// Hash is the value of the hash annotation; empty if there is none.
	Hash string
	// Fingerprint is a hash of the applied fields; 0 if there are none.
	Fingerprint uint64
	// Rendered is the value of the annotation of that name; empty if there is none.
	Rendered string
}

// Record replaces the managed fields of an object by the record. The annotations stay.
func (a Applied) Record(object metav1.Object) {
	object.SetManagedFields([]metav1.ManagedFieldsEntry{{
		FieldsType: appliedType, FieldsV1: metav1.NewFieldsV1(strings.TrimRight(strconv.FormatUint(a.Fingerprint, 36)+" "+a.Hash+" "+a.Rendered, " ")),
	}})
}

// AppliedOf returns the record of an object, and false for an object that has its managed fields or
// none.
func AppliedOf(object metav1.Object) (Applied, bool) {
	all := object.GetManagedFields()
	if len(all) != 1 || all[0].FieldsType != appliedType {
		return Applied{}, false
	}
	fingerprint, texts, _ := strings.Cut(all[0].FieldsV1.GetRawString(), " ")
	hash, rendered, _ := strings.Cut(texts, " ")
	found, err := strconv.ParseUint(fingerprint, 36, 64)
	return Applied{Hash: hash, Fingerprint: found, Rendered: rendered}, err == nil
}

// SpecHash returns the hash of the intent that an object was last written from; empty if it has none.
func SpecHash(object metav1.Object) string {
	if applied, ok := AppliedOf(object); ok {
		return applied.Hash
	}
	return object.GetAnnotations()[v1.SpecHashAnnotation]
}
