package copies

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/propagate"
)

func TestSourceOf(t *testing.T) {
	t.Parallel()
	object := v1.PropagatedObject{Kind: v1.PropagatedSecret, Name: "registry"}
	secrets := corev1.Resource("secrets")
	for name, tt := range map[string]struct {
		secret corev1.Secret
		err    error
		want   propagate.Source
	}{
		"missing":     {err: apierrors.NewNotFound(secrets, "registry"), want: propagate.Source{Reason: v1.ReasonMissing}},
		"forbidden":   {err: apierrors.NewForbidden(secrets, "registry", errors.New("no")), want: propagate.Source{Reason: v1.ReasonForbidden}},
		"no response": {err: errors.New("no route"), want: propagate.Source{Reason: v1.ReasonNotChecked}},
		"a token of a ServiceAccount": {
			secret: corev1.Secret{Type: corev1.SecretTypeServiceAccountToken},
			want:   propagate.Source{Reason: v1.ReasonInvalidSpec, Message: "Secrets of type kubernetes.io/service-account-token are not copied"},
		},
		"a password": {secret: corev1.Secret{Data: map[string][]byte{"password": []byte("hunter2")}}, want: propagate.Source{Version: "version"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.want.PropagatedObject = object
			got := sourceOf(object, &tt.secret, tt.err)
			if len(got.Version) == 64 {
				got.Version = "version"
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("the source (-want +got):\n%s", diff)
			}
			if strings.Contains(got.Message+got.Version, "hunter2") {
				t.Error("the source has a value of the Secret")
			}
		})
	}
}

// TestRemaining: what was pruned is no longer listed by its copy, and another copy has all that it lists.
func TestRemaining(t *testing.T) {
	t.Parallel()
	l := &MemberQueue{memory: newMemory("a")}
	app := shop(1, 1, "a")
	kept, removed := v1.PropagatedObject{Kind: v1.PropagatedSecret, Name: "kept"}, v1.PropagatedObject{Kind: v1.PropagatedConfigMap, Name: "removed"}
	app.Spec.Propagate = []v1.PropagatedObject{kept}
	live := app.DeepCopy()
	live.UID = "copy"
	live.Annotations = map[string]string{v1.PropagatedAnnotation: propagate.Record(kept, removed)}
	if diff := cmp.Diff([]v1.PropagatedObject{removed}, l.remaining(app, live)); diff != "" {
		t.Errorf("before it is pruned (-want +got):\n%s", diff)
	}
	objects := l.memory.Beside(keyOf(app), live.UID, "")
	objects.Pruned[removed] = true
	l.memory.SetBeside(keyOf(app), objects)
	if left := l.remaining(app, live); len(left) > 0 {
		t.Errorf("after it was pruned: %v remains", left)
	}
	live.UID = "other"
	if left := l.remaining(app, live); len(left) != 1 {
		t.Errorf("another copy: %v remains, want what it lists", left)
	}
}
