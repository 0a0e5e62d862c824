package copies

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

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

// TestPropagatedObjects: what was written counts for one copy and one forced reconciliation, and what
// was pruned is no longer listed by the copy.
func TestPropagatedObjects(t *testing.T) {
	t.Parallel()
	p := newPropagated()
	app := shop(1, 1, "a")
	kept, removed := v1.PropagatedObject{Kind: v1.PropagatedSecret, Name: "kept"}, v1.PropagatedObject{Kind: v1.PropagatedConfigMap, Name: "removed"}
	app.Spec.Propagate = []v1.PropagatedObject{kept}
	live := app.DeepCopy()
	live.UID = "copy"
	live.Annotations = map[string]string{v1.PropagatedAnnotation: propagate.Record(kept, removed)}
	if diff := cmp.Diff([]v1.PropagatedObject{removed}, p.remaining(app, live)); diff != "" {
		t.Errorf("before it is pruned (-want +got):\n%s", diff)
	}
	objects := p.of(keyOf(app), live.UID, "")
	objects.written[kept], objects.pruned[removed] = writtenObject{version: "1", resourceVersion: "7"}, true
	p.set(keyOf(app), objects)
	if left := p.remaining(app, live); len(left) > 0 {
		t.Errorf("after it was pruned: %v remains", left)
	}
	for name, tt := range map[string]struct {
		copied, reconcileAt string
		want                string
	}{
		"the same copy":           {"copy", "", "1"},
		"another copy":            {"other", "", ""},
		"a forced reconciliation": {"copy", "now", ""},
	} {
		if got := p.of(keyOf(app), types.UID(tt.copied), tt.reconcileAt).written[kept].version; got != tt.want {
			t.Errorf("%s: version %q, want %q", name, got, tt.want)
		}
	}
	live.UID = "other"
	if left := p.remaining(app, live); len(left) != 1 {
		t.Errorf("another copy: %v remains, want what it lists", left)
	}
}

// TestDrift: an object has drifted if a watch has delivered another version than the written one since
// it was compared.
func TestDrift(t *testing.T) {
	t.Parallel()
	p := newPropagated()
	app, object := shop(1, 1, "a"), v1.PropagatedObject{Kind: v1.PropagatedSecret, Name: "registry"}
	objects := p.of(keyOf(app), "copy", "")
	objects.written[object] = writtenObject{version: "1", resourceVersion: "7"}
	p.set(keyOf(app), objects)
	for _, step := range []struct {
		delivered   string
		news, drift bool
	}{{"7", false, false}, {"8", true, true}, {"7", false, false}, {gone, true, true}} {
		news := p.see(keyOf(app), object, step.delivered)
		if drift := p.hasDrifted(keyOf(app), object, objects.written[object]); news != step.news || drift != step.drift {
			t.Errorf("version %s: news %t, drift %t, want %+v", step.delivered, news, drift, step)
		}
	}
	p.compare(keyOf(app), object)
	if p.hasDrifted(keyOf(app), object, objects.written[object]) {
		t.Error("an object that is being compared has drifted")
	}
	p.see(keyOf(app), object, gone)
	p.forget(keyOf(app))
	if len(p.seen) > 0 {
		t.Error("what was delivered about an application that is gone is remembered")
	}
}
