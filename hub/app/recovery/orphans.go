package recovery

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// orphansPrefix is that of the names of the ConfigMaps that list orphans.
const orphansPrefix = "shopfleet-orphans-"

// OrphansName returns the name of the ConfigMap that lists the orphans of a member: the
// copies that no application on the hub owns.
func OrphansName(member string) string { return orphansPrefix + member }

// waitingLabel marks the copies in the list that are no orphans.
const waitingLabel = "ecommerce.io/waiting"

// Listed are the copies in a member that the ConfigMap lists.
type Listed struct {
	// Orphans are those that no application on the hub owns.
	Orphans []v1.EcommerceApp
	// Waiting are those that an application owns and does not know, which it leaves as they
	// are until a user settles that.
	Waiting []v1.EcommerceApp
}

// EncodeOrphans returns the data of the ConfigMap for copies in a member: of each what
// identifies it, and its spec. What exceeds MaxBytes is left out, by namespace and name.
func EncodeOrphans(listed Listed) (map[string]string, error) {
	copies := make([]v1.EcommerceApp, 0, len(listed.Orphans)+len(listed.Waiting))
	for i := range listed.Orphans {
		copies = append(copies, *outline(&listed.Orphans[i]))
	}
	for i := range listed.Waiting {
		waiting := outline(&listed.Waiting[i])
		waiting.Labels = map[string]string{waitingLabel: "true"}
		copies = append(copies, *waiting)
	}
	data, total := map[string]string{}, 0
	for _, c := range sortedCopies(copies) {
		if len(validation.IsConfigMapKey(string(c.UID))) > 0 {
			continue // Only a member that is not to be trusted has such a UID.
		}
		value, err := json.Marshal(&c)
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

// DecodeOrphans returns the copies in the data of a ConfigMap, each sorted by namespace and
// name. It leaves out values that are not copies, which only an edit by hand makes.
func DecodeOrphans(data map[string]string) Listed {
	var listed Listed
	for uid, value := range data {
		var c v1.EcommerceApp
		if json.Unmarshal([]byte(value), &c) != nil || c.UID != types.UID(uid) || c.Name == "" {
			continue
		}
		to := &listed.Orphans
		if c.Labels[waitingLabel] != "" {
			to, c.Labels = &listed.Waiting, nil
		}
		*to = append(*to, c)
	}
	listed.Orphans, listed.Waiting = sortedCopies(listed.Orphans), sortedCopies(listed.Waiting)
	return listed
}

// outline returns the part of a copy that is listed.
func outline(c *v1.EcommerceApp) *v1.EcommerceApp {
	listed := &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace, Name: c.Name, UID: c.UID, CreationTimestamp: c.CreationTimestamp,
		},
		Spec: c.Spec,
	}
	for _, key := range []string{v1.HubAppUIDAnnotation, v1.HubGenerationAnnotation, v1.RestartedAtAnnotation} {
		if value := c.Annotations[key]; value != "" {
			metav1.SetMetaDataAnnotation(&listed.ObjectMeta, key, value)
		}
	}
	return listed
}

func sortedCopies(copies []v1.EcommerceApp) []v1.EcommerceApp {
	return slices.SortedFunc(slices.Values(copies), func(a, b v1.EcommerceApp) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
}
