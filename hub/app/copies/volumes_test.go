package copies

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// testVolumes checks that a copy is deleted with the volumes of its database if the application that is deleted asks
// for that, and never when the application leaves the member.
func testVolumes(t *testing.T, m *member) {
	t.Helper()
	m.app.Spec.Deletion.Volumes = v1.DeletionDelete
	for name, tt := range map[string]struct {
		change func()
		want   string
	}{
		"leaves":     {func() { m.app.Status.Clusters[0].Phase = v1.PhaseDeleting }, ""},
		"is deleted": {func() { m.app.DeletionTimestamp = &metav1.Time{} }, "true"},
		"keeps them": {func() {
			m.app.DeletionTimestamp, m.app.Spec.Deletion.Volumes = &metav1.Time{}, v1.DeletionRetain
		}, ""},
	} {
		m.app.Status.Clusters[0].Phase, m.app.DeletionTimestamp, m.app.Spec.Deletion.Volumes = "", nil, v1.DeletionDelete
		m.app.UID += "x" // One that is not known to have left.
		m.reconcile(t)
		if got := m.live(t).Annotations[v1.DeleteVolumesAnnotation]; got != "" {
			t.Errorf("%s: %q before the deletion", name, got)
		}
		tt.change()
		m.reconcile(t)
		if copied := m.live(t); copied.DeletionTimestamp == nil || copied.Annotations[v1.DeleteVolumesAnnotation] != tt.want {
			t.Errorf("an application that %s: deleted at %v, annotations %v", name, copied.DeletionTimestamp, copied.Annotations)
		}
		m.finish(t)
	}
}
