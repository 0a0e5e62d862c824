package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// testStatus checks that writes of the spec and of /status do not affect each other.
func (s *server) testStatus(t *testing.T) {
	s.namespace(t, "status")
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			created := s.create(t.Context(), t, k, edits{"metadata.name": "status"}, inNamespace(k, "status"))
			created = s.settle(t, k, created)
			s.checkPut(t, k, created)
			patched := s.checkStatusPatch(t, k, created)
			if k.changed != nil {
				s.checkGeneration(t, k, patched)
			}
		})
	}
	t.Run("Bounds", s.testStatusBounds)
	t.Run("Bounds of backups", s.testBackupStatus)
	t.Run("Bounds of plans", s.testPlanStatus)
}

// checkPut checks that writing the object does not change the status.
func (s *server) checkPut(t *testing.T, k kind, live *unstructured.Unstructured) {
	t.Helper()
	written := live.DeepCopy()
	edits{"status.observedGeneration": int64(7)}.apply(t, written)
	updated, err := s.resource(k, live.GetNamespace()).Update(t.Context(), written, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(live, updated); diff != "" {
		t.Errorf("a PUT that changes nothing but the status was a write (-before +after):\n%s", diff)
	}
}

// checkStatusPatch checks that writing the status does not change the object.
func (s *server) checkStatusPatch(t *testing.T, k kind, live *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	patch := []byte(`{"metadata":{"labels":{"a":"b"}},"spec":{"replicas":9,"region":"r"},"status":{"observedGeneration":1}}`)
	patched, err := s.resource(k, live.GetNamespace()).Patch(t.Context(), live.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
	if got := valueAt(t, patched, "status.observedGeneration"); got != int64(1) {
		t.Errorf("after a patch of /status, status.observedGeneration = %v, want 1", got)
	}
	if patched.GetGeneration() != live.GetGeneration() || patched.GetLabels() != nil {
		t.Errorf("a patch of /status changed generation (%d) or labels (%v)", patched.GetGeneration(), patched.GetLabels())
	}
	if diff := cmp.Diff(valueAt(t, live, "spec"), valueAt(t, patched, "spec")); diff != "" {
		t.Errorf("a patch of /status changed the spec:\n%s", diff)
	}
	return patched
}

// checkGeneration checks that a change of the spec increases the generation.
func (s *server) checkGeneration(t *testing.T, k kind, live *unstructured.Unstructured) {
	t.Helper()
	k.changed.apply(t, live)
	changed, err := s.resource(k, live.GetNamespace()).Update(t.Context(), live, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if changed.GetGeneration() != live.GetGeneration()+1 {
		t.Errorf("after a change of the spec the generation is %d, want %d", changed.GetGeneration(), live.GetGeneration()+1)
	}
}

// phases returns all phases of the package v1.
func phases() []v1.Phase {
	return []v1.Phase{
		v1.PhasePending, v1.PhaseCreating, v1.PhaseRunning, v1.PhaseUpdating, v1.PhaseScaling,
		v1.PhaseFailed, v1.PhaseDeleting, v1.PhaseDisabled, v1.PhasePaused, v1.PhaseUnknown,
	}
}

// testValidStatuses writes statuses at the bounds.
func (s *server) testValidStatuses(t *testing.T, k kind, app *unstructured.Unstructured) {
	t.Helper()
	for _, phase := range phases() {
		status := v1.EcommerceAppStatus{
			Phase:      phase,
			Components: []v1.ComponentStatus{{Name: "database", Phase: phase}},
			Regions:    []v1.RegionStatus{{Name: "eu-west-1", Phase: phase}},
			Clusters: []v1.ClusterStatus{{
				Name: "eu-1", Phase: phase, DegradedReason: v1.ReasonMissing, Components: []v1.ClusterComponentStatus{{Name: "database", Phase: phase}},
			}},
		}
		if err := s.patchStatus(t, k, app, status); err != nil {
			t.Errorf("phase %s is refused: %v", phase, err)
		}
	}
	if err := s.patchStatus(t, k, app, v1.EcommerceAppStatus{Clusters: clusters(500)}); err != nil {
		t.Errorf("500 clusters are refused: %v", err)
	}
	if err := s.patchStatus(t, k, app, v1.EcommerceAppStatus{PendingChanges: pendingChanges(100, strings.Repeat("f", 256))}); err != nil {
		t.Errorf("100 pending changes are refused: %v", err)
	}
	update := v1.ClusterUpdate{Name: "a", ProgressingSeconds: 1 << 40, ReadySeconds: 1, Before: &v1.ClusterBefore{Serving: true, Stalled: v1.ReasonConflict, Unready: unready(16)}}
	if err := s.patchStatus(t, k, app, rolloutStatus(update)); err != nil {
		t.Errorf("an update with what was before is refused: %v", err)
	}
	rendering := v1.EcommerceAppStatus{
		RenderingVersion: strings.Repeat("2", 63), HeldTemplates: heldTemplates(16), Rendering: &v1.RolloutStatus{Revision: 1, State: v1.RolloutFailed},
		Clusters: []v1.ClusterStatus{{Name: "a", RenderingVersion: strings.Repeat("2", 63), HeldTemplates: true}},
	}
	if err := s.patchStatus(t, k, app, rendering); err != nil {
		t.Errorf("pod templates that wait are refused: %v", err)
	}
	if err := s.patchStatus(t, k, app, rolloutStatus(v1.ClusterUpdate{Name: "a", Before: &v1.ClusterBefore{Unknown: true}}, superseded(500)...)); err != nil {
		t.Errorf("an update of which nothing is known, and 500 that were superseded, are refused: %v", err)
	}
	if err := s.patchStatus(t, k, app, leftBehind(heldTemplates(500)...)); err != nil {
		t.Errorf("500 clusters that are left behind are refused: %v", err)
	}
}

// testStatusBounds writes valid and invalid statuses.
func (s *server) testStatusBounds(t *testing.T) {
	k := ecommerceApps()
	app := s.create(t.Context(), t, k, edits{"metadata.name": "bounds", "metadata.namespace": "status"})
	s.testValidStatuses(t, k, app)
	for _, test := range []struct {
		field, says string
		status      any
	}{
		{"status.renderingVersion", "Too long: may not be more than 63 bytes", map[string]any{"renderingVersion": strings.Repeat("2", 64)}},
		{"status.heldTemplates", "Too many: 17: must have at most 16 items", map[string]any{"heldTemplates": heldTemplates(17)}},
		{"status.heldTemplates[0]", "Too long: may not be more than 63 bytes", map[string]any{"heldTemplates": []string{strings.Repeat("n", 64)}}},
		{"status.rendering.revision", "should be greater than or equal to 1", map[string]any{"rendering": v1.RolloutStatus{State: v1.RolloutComplete}}},
		{"status.clusters[0].renderingVersion", "Too long: may not be more than 63 bytes", map[string]any{"clusters": []v1.ClusterStatus{{Name: "a", RenderingVersion: strings.Repeat("2", 64)}}}},
		{"status.phase", "Unsupported value", map[string]any{"phase": "Happy"}},
		{"status.message", "Too long: may not be more than 32768 bytes", map[string]any{"message": strings.Repeat("m", 32769)}},
		{"status.clusters", "Too many: 501: must have at most 500 items", map[string]any{"clusters": clusters(501)}},
		{"status.clusters[1]", "Duplicate value", map[string]any{"clusters": append(clusters(1), clusters(1)...)}},
		{"status.clusters[0].degradedReason", "Too long: may not be more than 1024 bytes", map[string]any{"clusters": []v1.ClusterStatus{{Name: "a", DegradedReason: strings.Repeat("R", 1025)}}}},
		{"status.pendingChanges", "Too many: 101: must have at most 100 items", map[string]any{"pendingChanges": pendingChanges(101, "f")}},
		{"status.pendingChanges[0].fields[0]", "Too long: may not be more than 256 bytes", map[string]any{"pendingChanges": pendingChanges(1, strings.Repeat("f", 257))}},
		{"status.pendingChanges[0].action", "Unsupported value", map[string]any{"pendingChanges": []v1.PendingChange{{Kind: "Service", Name: "a", Action: "Patch"}}}},
		{"status.rollout.updating[0].before.unready", "Too many: 17: must have at most 16 items", rolloutStatus(v1.ClusterUpdate{Name: "a", Before: &v1.ClusterBefore{Unready: unready(17)}})},
		{"status.rollout.updating[0].before.unready[0].name", "Too long: may not be more than 63 bytes", rolloutStatus(v1.ClusterUpdate{Name: "a", Before: &v1.ClusterBefore{Unready: []v1.UnreadyComponent{{Name: strings.Repeat("n", 64)}}}})},
		{"status.rollout.updating[0].before.stalled", "Too long: may not be more than 1024 bytes", rolloutStatus(v1.ClusterUpdate{Name: "a", Before: &v1.ClusterBefore{Stalled: strings.Repeat("R", 1025)}})},
		{"status.rollout.updating[0].progressingSeconds", "should be greater than or equal to 0", rolloutStatus(v1.ClusterUpdate{Name: "a", ProgressingSeconds: -1})},
		{"status.rollout.updating[0].readySeconds", "should be greater than or equal to 0", rolloutStatus(v1.ClusterUpdate{Name: "a", ReadySeconds: -1})},
		{"status.rollout.superseded", "Too many: 501: must have at most 500 items", rolloutStatus(v1.ClusterUpdate{Name: "a"}, superseded(501)...)},
		{"status.rollout.superseded[1]", "Duplicate value", rolloutStatus(v1.ClusterUpdate{Name: "a"}, append(superseded(1), superseded(1)...)...)},
		{"status.rollout.leftBehind", "Too many: 501: must have at most 500 items", leftBehind(heldTemplates(501)...)},
		{"status.rollout.leftBehind[1]", "Duplicate value", leftBehind("a", "a")},
		{"status.rollout.leftBehind[0]", "Too long: may not be more than 63 bytes", leftBehind(strings.Repeat("n", 64))},
		{"status.rollout.superseded[0].name", "Too long: may not be more than 63 bytes", rolloutStatus(v1.ClusterUpdate{Name: "a"}, v1.SupersededUpdate{Name: strings.Repeat("n", 64)})},
		{"status.rollout.superseded[0].before.unready", "Too many: 17: must have at most 16 items", rolloutStatus(v1.ClusterUpdate{Name: "a"}, v1.SupersededUpdate{Name: "a", Before: v1.ClusterBefore{Unready: unready(17)}})},
		{"status.clusterCount", "should be greater than or equal to 0", map[string]any{"clusterCount": -1}},
	} {
		s.checkAnswer(t, k, testCase{field: test.field, says: test.says}, s.patchStatus(t, k, app, test.status))
	}
	s.testMemberStatusBounds(t)
}

// heldTemplates returns the names of n components.
func heldTemplates(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = numbered("component", i)
	}
	return all
}

// testMemberStatusBounds writes valid and invalid statuses of a member.
func (s *server) testMemberStatusBounds(t *testing.T) {
	t.Helper()
	members := memberClusters()
	member := s.create(t.Context(), t, members, edits{"metadata.name": "bounds"})
	if err := s.patchStatus(t, members, member, map[string]any{"allocatable": resources(16)}); err != nil {
		t.Errorf("16 resources are refused: %v", err)
	}
	s.checkAnswer(t, members, testCase{field: "status.allocatable", says: "allocatable must have at most 16 resources"},
		s.patchStatus(t, members, member, map[string]any{"allocatable": resources(17)}))
	if err := s.patchStatus(t, members, member, map[string]any{"requested": resources(16)}); err != nil {
		t.Errorf("16 resources are refused: %v", err)
	}
	s.checkAnswer(t, members, testCase{field: "status.requested", says: "requested must have at most 16 resources"},
		s.patchStatus(t, members, member, map[string]any{"requested": resources(17)}))
	s.checkAnswer(t, members, testCase{field: "status.orphanCount", says: "should be greater than or equal to 0"},
		s.patchStatus(t, members, member, map[string]any{"orphanCount": -1}))
	s.checkAnswer(t, members, testCase{field: "status.residueCount", says: "should be greater than or equal to 0"},
		s.patchStatus(t, members, member, map[string]any{"residueCount": -1}))
}

// rolloutStatus returns a status with an update in progress, and others that were superseded.
func rolloutStatus(u v1.ClusterUpdate, others ...v1.SupersededUpdate) map[string]any {
	return map[string]any{"rollout": v1.RolloutStatus{Revision: 1, SpecHash: "h", State: v1.RolloutProgressing, Updating: []v1.ClusterUpdate{u}, Superseded: others}}
}

// leftBehind returns a status with a rollout that leaves clusters behind.
func leftBehind(names ...string) map[string]any {
	return map[string]any{"rollout": v1.RolloutStatus{Revision: 1, SpecHash: "h", State: v1.RolloutComplete, LeftBehind: names}}
}

// superseded returns updates that were superseded.
func superseded(n int) []v1.SupersededUpdate {
	all := make([]v1.SupersededUpdate, 0, n)
	for i := range n {
		all = append(all, v1.SupersededUpdate{Name: fmt.Sprintf("member-%d", i), Before: v1.ClusterBefore{Serving: true}})
	}
	return all
}

// unready returns components that were not ready.
func unready(n int) []v1.UnreadyComponent {
	all := make([]v1.UnreadyComponent, 0, n)
	for i := range n {
		all = append(all, v1.UnreadyComponent{Name: fmt.Sprintf("component-%d", i), Reason: v1.ReasonCrashLoopBackOff})
	}
	return all
}

// writeStatus patches the status.
func (s *server) writeStatus(t *testing.T, k kind, object *unstructured.Unstructured, status string) {
	t.Helper()
	_, err := s.resource(k, object.GetNamespace()).Patch(t.Context(), object.GetName(), types.MergePatchType,
		[]byte(`{"status":`+status+`}`), metav1.PatchOptions{FieldValidation: metav1.FieldValidationStrict}, "status")
	if err != nil {
		t.Fatal(err)
	}
}

// patchStatus patches the status, as a dry run under strict validation.
func (s *server) patchStatus(t *testing.T, k kind, object *unstructured.Unstructured, status any) error {
	t.Helper()
	body, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.resource(k, object.GetNamespace()).Patch(t.Context(), object.GetName(), types.MergePatchType, body,
		metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}, "status")
	return err
}

// resources returns quantities of n resources.
func resources(n int) map[string]any {
	all := map[string]any{}
	for i := range n {
		all[numbered("example.com/r", i)] = "1"
	}
	return all
}

// pendingChanges returns n changes with one field.
func pendingChanges(n int, field string) []v1.PendingChange {
	all := make([]v1.PendingChange, n)
	for i := range all {
		all[i] = v1.PendingChange{Cluster: "eu-1", Kind: "Service", Name: numbered("a", i), Action: v1.PendingUpdate, Fields: []string{field}}
	}
	return all
}

// clusters returns entries for n clusters.
func clusters(n int) []v1.ClusterStatus {
	all := make([]v1.ClusterStatus, n)
	for i := range all {
		all[i].Name = numbered("cluster", i)
	}
	return all
}
