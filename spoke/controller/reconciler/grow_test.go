package reconciler

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// TestRefuse checks that a claim that cannot grow is reported as a problem and retried,
// and does not fail the pass.
func TestRefuse(t *testing.T) {
	tests := map[string]struct {
		class *string
		want  string
	}{
		"of a class": {new("fixed"), `claim data-0 cannot be expanded to 20Gi and keeps its size: set allowVolumeExpansion of its StorageClass fixed, ` +
			`and check that quotas and permissions allow it (persistentvolumeclaims "data-0" is forbidden: no)`},
		"of no class": {nil, `claim data-0 cannot be expanded to 20Gi and keeps its size: set allowVolumeExpansion of its StorageClass, ` +
			`and check that quotas and permissions allow it (persistentvolumeclaims "data-0" is forbidden: no)`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data-0"}, Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: tt.class}}
			p := &pass[*v1.EcommerceApp]{}
			p.rejectExpansion(component.Step{Action: component.Grow, Component: "database", Target: claim, Size: resource.MustParse("20Gi")},
				apierrors.NewForbidden(schema.GroupResource{Resource: "persistentvolumeclaims"}, "data-0", errors.New("no")))
			want := component.Problem{Component: "database", Reason: v1.ReasonStorageNotExpandable, Message: tt.want, Blocking: true}
			if len(p.problems) != 1 || p.problems[0] != want {
				t.Errorf("got %+v, want %+v", p.problems, want)
			}
			if got, err := p.result(Settings{}, 0); err != nil || got.RequeueAfter >= resync {
				t.Errorf("tried again in %v, %v", got.RequeueAfter, err)
			}
		})
	}
}

// TestReportWakesAtTheDeadline checks that a StatefulSet that is not ready is
// looked at again when its deadline passes, also when the status stays as it is.
func TestReportWakesAtTheDeadline(t *testing.T) {
	start := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	clock := clocktesting.NewFakeClock(start)
	settings := Settings{Clock: clock}
	r := newReconciler(Kind[*v1.EcommerceApp]{
		Status: func(app *v1.EcommerceApp) Status {
			s := &app.Status
			return Status{Phase: &s.Phase, Message: &s.Message, ObservedGeneration: &s.ObservedGeneration, LastUpdated: &s.LastUpdated, Conditions: &s.Conditions}
		},
		SetStatus: func(*v1.EcommerceApp, component.Summary) {},
	}, &Member{Settings: settings})
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
	p := &pass[*v1.EcommerceApp]{object: app, states: []component.State{{Name: "database", Reason: v1.ReasonWaitingForReplicas, Timed: true}}}
	told := r.summarize(p, metav1.NewTime(start))
	app.Status.Phase, app.Status.Message = told.Phase, told.Message
	app.Status.ObservedGeneration, app.Status.Conditions = told.ObservedGeneration, told.Conditions
	clock.Step(4 * time.Minute)
	r.writeStatus(t.Context(), p)
	if got, err := p.result(settings, 0); err != nil || got.RequeueAfter != component.ProgressDeadline-4*time.Minute {
		t.Errorf("looked at again in %v, %v", got.RequeueAfter, err)
	}
}
