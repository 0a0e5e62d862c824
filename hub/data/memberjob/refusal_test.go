package memberjob

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// member answers lists of pods and events.
type member struct {
	client.Reader
	pods   []corev1.Pod
	events []corev1.Event
	err    error
	asked  *client.ListOptions
}

func (m *member) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	switch l := list.(type) {
	case *corev1.PodList:
		l.Items = m.pods
	case *corev1.EventList:
		m.asked = new(client.ListOptions).ApplyOptions(opts)
		if m.err != nil {
			return m.err
		}
		l.Items = m.events
	}
	return nil
}

// TestRefusedJob checks that a Job whose pod the cluster rejects says why, with one bounded list of its own events.
func TestRefusedJob(t *testing.T) {
	t.Parallel()
	at := func(second int64) metav1.Time { return metav1.Unix(second, 0) }
	refused := []corev1.Event{
		{Message: `Error creating: pods "job-x1" is forbidden: failed quota: q: must specify cpu`, LastTimestamp: at(1)},
		{Message: `Error creating: pods "job-x2" is forbidden: exceeded quota: q, requested: pods=1, used: pods=5, limited: pods=5`, LastTimestamp: at(2)},
	}
	for name, tt := range map[string]struct {
		member  member
		started bool
		why     string
		asked   bool
	}{
		"refused":         {member{events: refused}, true, "the cluster rejects its pod: exceeded quota: q, requested: pods=1, limited: pods=5", true},
		"nothing is said": {member{}, true, "", true},
		"not allowed":     {member{err: apierrors.NewForbidden(corev1.Resource("events"), "", nil)}, true, "", true},
		"not started":     {member{events: refused}, false, "", false},
		"it has a pod":    {member{events: refused, pods: []corev1.Pod{pod("job-1", corev1.PodStatus{})}}, true, "", false},
		"another's pod":   {member{events: refused, pods: []corev1.Pod{pod("job-2", corev1.PodStatus{})}}, true, "the cluster rejects its pod: exceeded quota: q, requested: pods=1, limited: pods=5", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := aJob()
			if tt.started {
				job.Status.StartTime = new(at(0))
			}
			out, err := ReadResult(t.Context(), &tt.member, job)
			if err != nil || out.Why != tt.why {
				t.Errorf("got %+v, %v, want %q", out, err, tt.why)
			}
			asked := tt.member.asked
			if (asked != nil) != tt.asked || asked != nil && (asked.Limit == 0 || asked.Namespace != "shops" || asked.FieldSelector.Empty()) {
				t.Errorf("asked for %+v", asked)
			}
		})
	}
}
