package residue

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// orphansPrefix is that of the names of the ConfigMaps that list orphans.
const orphansPrefix = "shopfleet-orphans-"

// OrphansName returns the name of the ConfigMap that lists the orphans of a member: the
// copies that no application on the hub owns.
func OrphansName(member string) string { return orphansPrefix + member }

// EncodeOrphans returns the data of the ConfigMap for copies in a member: of each what
// identifies it, and its spec. What exceeds MaxBytes is left out, by namespace and name.
func EncodeOrphans(copies []v1.EcommerceApp) (map[string]string, error) {
	data, total := map[string]string{}, 0
	for _, c := range sortedCopies(copies) {
		value, err := json.Marshal(outline(&c))
		if err != nil {
			return nil, fmt.Errorf("encoding the copy %s/%s: %w", c.Namespace, c.Name, err)
		}
		if total += len(c.UID) + len(value); total > MaxBytes {
			break
		}
		data[string(c.UID)] = string(value)
	}
	return data, nil
}

// DecodeOrphans returns the copies in the data of a ConfigMap, sorted by namespace and
// name. It leaves out values that are not copies, which only an edit by hand makes.
func DecodeOrphans(data map[string]string) []v1.EcommerceApp {
	var copies []v1.EcommerceApp
	for uid, value := range data {
		var c v1.EcommerceApp
		if json.Unmarshal([]byte(value), &c) == nil && c.UID == types.UID(uid) && c.Name != "" {
			copies = append(copies, c)
		}
	}
	return sortedCopies(copies)
}

// outline returns the part of a copy that is listed.
func outline(c *v1.EcommerceApp) *v1.EcommerceApp {
	listed := &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace, Name: c.Name, UID: c.UID, CreationTimestamp: c.CreationTimestamp,
		},
		Spec: c.Spec,
	}
	if uid := c.Annotations[v1.HubAppUIDAnnotation]; uid != "" {
		listed.Annotations = map[string]string{v1.HubAppUIDAnnotation: uid}
	}
	return listed
}

func sortedCopies(copies []v1.EcommerceApp) []v1.EcommerceApp {
	return slices.SortedFunc(slices.Values(copies), func(a, b v1.EcommerceApp) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
}
