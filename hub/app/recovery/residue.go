package recovery

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// MaxBytes bounds the records of one member, in bytes. A ConfigMap holds 1 MiB.
const MaxBytes = 900 << 10

// ErrFull means that a record would make the ConfigMap of a member exceed MaxBytes.
var ErrFull = errors.New("the record of what stayed behind is full")

// prefix is that of the names of the ConfigMaps.
const prefix = "shopfleet-residue-"

// Name returns the name of the ConfigMap with the records of a member.
func Name(member string) string { return prefix + member }

// Residue identifies a copy that stayed behind in a member.
type Residue struct {
	// Namespace and Name are those of the copy and of its application.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// App is the UID of the application that the copy was written for; empty for an
	// orphan that lost it.
	App types.UID `json:"app,omitempty"`
	// Copy is the UID of the copy, if a user asked for its deletion. Otherwise the copy
	// stayed behind, and its UID is unknown.
	Copy types.UID `json:"copy,omitempty"`
	// Volumes is true if the volumes of the database are deleted with the copy.
	Volumes bool `json:"volumes,omitempty"`
	// ClusterUID is the UID of the member's cluster; empty if unknown.
	ClusterUID string `json:"clusterUID,omitempty"`
	// Recorded is the time at which the record was made.
	Recorded metav1.Time `json:"recorded"`
}

// Key returns the key of the copy.
func (r Residue) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
}

// ID returns the key of the record in a ConfigMap.
func (r Residue) ID() types.UID { return cmp.Or(r.Copy, r.App) }

// Names reports whether a copy is the one that stayed behind.
func (r Residue) Names(c metav1.Object) bool {
	return types.UID(c.GetAnnotations()[v1.HubAppUIDAnnotation]) == r.App && (r.Copy == "" || r.Copy == c.GetUID())
}

// In reports whether it stayed behind in a cluster, given by its UID. Residue without a
// cluster may be in any.
func (r Residue) In(clusterUID string) bool {
	return r.ClusterUID == "" || r.ClusterUID == clusterUID
}

// Decode returns the records in the data of a ConfigMap, sorted by namespace, name and
// UID. It leaves out values that are not records, which only an edit by hand makes, and
// returns their keys, sorted.
func Decode(data map[string]string) (records []Residue, invalid []string) {
	for key, value := range data {
		var r Residue
		if err := json.Unmarshal([]byte(value), &r); err != nil || r.Namespace == "" || r.Name == "" || string(r.ID()) != key {
			invalid = append(invalid, key)
			continue
		}
		records = append(records, r)
	}
	slices.SortFunc(records, func(a, b Residue) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID(), b.ID()))
	})
	slices.Sort(invalid)
	return records, invalid
}

// Data returns the data of a new ConfigMap with one record.
func Data(r Residue) (map[string]string, error) {
	value, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encoding the record of %s: %w", r.Key(), err)
	}
	return map[string]string{string(r.ID()): string(value)}, nil
}

// AddPatch returns a merge patch that adds a record to a ConfigMap with the given data, or
// nil if the copy is recorded there already. The error is ErrFull if the data would exceed
// MaxBytes.
func AddPatch(data map[string]string, r Residue) ([]byte, error) {
	if _, recorded := data[string(r.ID())]; recorded {
		return nil, nil
	}
	added, err := Data(r)
	if err != nil {
		return nil, err
	}
	if size(data)+size(added) > MaxBytes {
		return nil, fmt.Errorf("recording %s: %w", r.Key(), ErrFull)
	}
	return patch(added)
}

// RemovePatch returns a merge patch that removes the record with an ID.
func RemovePatch(id types.UID) ([]byte, error) {
	return patch(map[string]*string{string(id): nil})
}

func patch(data any) ([]byte, error) {
	encoded, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return nil, fmt.Errorf("encoding a patch of records: %w", err)
	}
	return encoded, nil
}

func size(data map[string]string) int {
	n := 0
	for key, value := range data {
		n += len(key) + len(value)
	}
	return n
}
