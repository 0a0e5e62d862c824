package csi

import (
	"fmt"
	"strconv"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

const gibibyte = 1 << 30

// CheckSize finds a size that the driver of a class would refuse when the claim is
// made: too small or too large for its type, or too small for its IOPS. It knows the
// classes that are made here; of others, and of nil, it finds nothing wrong.
func CheckSize(class *storagev1.StorageClass, size resource.Quantity) error {
	if class == nil {
		return nil
	}
	provider, _ := ProviderOf(class.Provisioner)
	names := parametersOf(provider)
	kind := class.Parameters[names.kind]
	t, known := diskTypes(provider)[kind]
	if !known {
		return nil
	}
	// Drivers round up to whole GiB.
	gib := size.Value()/gibibyte + min(size.Value()%gibibyte, 1)
	switch {
	case gib < t.minGiB:
		return fmt.Errorf("a volume of %s is too small: %s takes at least %dGi", size.String(), kind, t.minGiB)
	case gib > t.maxGiB:
		return fmt.Errorf("a volume of %s is too large: %s takes at most %dGi", size.String(), kind, t.maxGiB)
	}
	iops, given := class.Parameters[names.iops]
	if !given || t.iopsPerGiB == 0 {
		return nil
	}
	n, err := strconv.ParseInt(iops, 10, 64)
	if err != nil {
		return fmt.Errorf("reading parameter %s of StorageClass %q: %w", names.iops, class.Name, err)
	}
	if n > int64(t.defaultIOPS) && n > gib*t.iopsPerGiB {
		return fmt.Errorf("a volume of %s is too small: %s needs at least %dGi for %d IOPS", size.String(), kind, (n+t.iopsPerGiB-1)/t.iopsPerGiB, n)
	}
	return nil
}
