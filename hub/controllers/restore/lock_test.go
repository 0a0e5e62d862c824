package restore

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// told remembers what was patched.
type told struct {
	client.Writer
	metadata map[string]any
	manager  string
	err      error
}

func (w *told) Patch(_ context.Context, o client.Object, patch client.Patch, options ...client.PatchOption) error {
	text, err := patch.Data(o)
	if err != nil {
		return err
	}
	body := map[string]map[string]any{}
	if err := json.Unmarshal(text, &body); err != nil {
		return err
	}
	w.metadata, w.manager = body["metadata"], (&client.PatchOptions{}).ApplyOptions(options).FieldManager
	return w.err
}

func copied(annotations map[string]string) *v1.EcommerceApp {
	return &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Name: "shop", ResourceVersion: "7", Annotations: annotations}}
}

// TestTakeLock: of two Restores one waits, of whichever kinds they are.
func TestTakeLock(t *testing.T) {
	t.Parallel()
	const restoring, loading = v1.RestoringAnnotation, v1.LoadingAnnotation
	for name, tt := range map[string]struct {
		there       map[string]string
		annotation  string
		taken, busy bool
	}{
		"not locked":                     {nil, loading, true, false},
		"not locked, for volumes":        {map[string]string{"a": "b"}, restoring, true, false},
		"taken already":                  {map[string]string{loading: "me"}, loading, false, false},
		"another loads":                  {map[string]string{loading: "other"}, loading, false, true},
		"another loads, and we restore":  {map[string]string{loading: "other"}, restoring, false, true},
		"another restores, and we load":  {map[string]string{restoring: "other"}, loading, false, true},
		"another restores":               {map[string]string{restoring: "other"}, restoring, false, true},
		"one of our name, in other ways": {map[string]string{restoring: "me"}, loading, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &told{}
			taken, err := takeLock(t.Context(), w, copied(tt.there), tt.annotation, "me")
			if taken != tt.taken || errors.Is(err, errBusy) != tt.busy || err != nil && !tt.busy {
				t.Fatalf("taken %t, %v", taken, err)
			}
			var want map[string]any
			if tt.taken {
				want = map[string]any{"resourceVersion": "7", "annotations": map[string]any{tt.annotation: "me"}}
			}
			if diff := cmp.Diff(want, w.metadata); diff != "" {
				t.Errorf("patched (-want +got):\n%s", diff)
			}
			if tt.taken && w.manager != lockFieldManager {
				t.Errorf("by the manager %q, which the member queues take for their own", w.manager)
			}
		})
	}
}

func TestReleaseLock(t *testing.T) {
	t.Parallel()
	w := &told{}
	given, err := releaseLock(t.Context(), w, copied(map[string]string{v1.LoadingAnnotation: "other", v1.RestoringAnnotation: "other"}), "me")
	if given || err != nil || w.metadata != nil {
		t.Errorf("what another said: given %t, %v, %v", given, err, w.metadata)
	}
	for _, annotation := range []string{v1.LoadingAnnotation, v1.RestoringAnnotation} {
		given, err := releaseLock(t.Context(), w, copied(map[string]string{annotation: "me", "a": "b"}), "me")
		want := map[string]any{"resourceVersion": "7", "annotations": map[string]any{annotation: nil}}
		if diff := cmp.Diff(want, w.metadata); !given || err != nil || diff != "" {
			t.Errorf("given %t, %v, patched (-want +got):\n%s", given, err, diff)
		}
	}
	w.err = errors.New("gone")
	if _, err := releaseLock(t.Context(), w, copied(map[string]string{v1.LoadingAnnotation: "me"}), "me"); !errors.Is(err, w.err) {
		t.Errorf("the error %v is lost", err)
	}
}
