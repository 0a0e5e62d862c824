package restore

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
)

// lockTest creates copies, with annotations.
type lockTest struct {
	*backupenv.Env
	copies int
}

func (l *lockTest) all(t *testing.T) {
	t.Run("take", l.take)
	t.Run("release", l.release)
	t.Run("record", l.record)
}

func (l *lockTest) create(t *testing.T, annotations map[string]string) *v1.EcommerceApp {
	t.Helper()
	l.copies++
	app := apitest.App(fmt.Sprintf("locked-%d", l.copies)).Namespace(backupenv.Namespace).Obj()
	app.Annotations = maps.Clone(annotations)
	l.MustCreate(t, app)
	return app
}

// expect checks the annotations of a copy.
func (l *lockTest) expect(t *testing.T, app *v1.EcommerceApp, want map[string]string) {
	t.Helper()
	if err := l.Get(t.Context(), client.ObjectKeyFromObject(app), app); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, app.Annotations, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

// take checks that one of two Restores waits, whatever their strategies are.
func (l *lockTest) take(t *testing.T) {
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
			app := l.create(t, tt.there)
			old, want := app.DeepCopy(), map[string]string{}
			maps.Copy(want, tt.there)
			taken, err := takeLock(t.Context(), l, app, tt.annotation, "me")
			if taken != tt.taken || errors.Is(err, errBusy) != tt.busy || err != nil && !tt.busy {
				t.Fatalf("taken %t, %v", taken, err)
			}
			if !tt.taken {
				l.expect(t, app, want)
				return
			}
			if _, err := takeLock(t.Context(), l, old, restoring, "late"); !apierrors.IsConflict(err) {
				t.Errorf("by an old copy: %v", err)
			}
			want[tt.annotation] = "me"
			l.expect(t, app, want)
			if !slices.ContainsFunc(app.ManagedFields, func(f metav1.ManagedFieldsEntry) bool { return f.Manager == lockFieldManager }) {
				t.Errorf("by %+v, which the member queues may take for their own", app.ManagedFields)
			}
		})
	}
}

func (l *lockTest) release(t *testing.T) {
	others := map[string]string{v1.LoadingAnnotation: "other", v1.RestoringAnnotation: "other"}
	app := l.create(t, others)
	me := &v1.Restore{ObjectMeta: metav1.ObjectMeta{Name: "me", UID: "u-me"}}
	if given, err := releaseLock(t.Context(), l, app, me); given || err != nil {
		t.Errorf("what another said: given %t, %v", given, err)
	}
	l.expect(t, app, others)
	for _, annotation := range []string{v1.LoadingAnnotation, v1.RestoringAnnotation} {
		app := l.create(t, map[string]string{annotation: "me", "a": "b"})
		if given, err := releaseLock(t.Context(), l, app, me); !given || err != nil {
			t.Errorf("given %t, %v", given, err)
		}
		l.expect(t, app, map[string]string{"a": "b"})
	}
	// What was replaced, and was lost perhaps, is there again.
	back := l.create(t, map[string]string{v1.RestoringAnnotation: "me"})
	me.Status.Steps = recordOf(time.Unix(1, 0), stepRetire, stepReturn)
	if _, err := releaseLock(t.Context(), l, back, me); err != nil {
		t.Error(err)
	}
	l.expect(t, back, map[string]string{v1.RestoredAnnotation: "u-me"})
	me.Status.Steps = nil
	// The copy names the last Restore that brought data, from its end until the next one begins.
	loaded := l.create(t, map[string]string{v1.LoadingAnnotation: "me"})
	me.Status.Dump = &v1.RestoredDump{Loaded: true}
	if _, err := releaseLock(t.Context(), l, loaded, me); err != nil {
		t.Error(err)
	}
	l.expect(t, loaded, map[string]string{v1.LoadedAnnotation: "me"})
	if _, err := takeLock(t.Context(), l, loaded, v1.RestoringAnnotation, "next"); err != nil {
		t.Error(err)
	}
	l.expect(t, loaded, map[string]string{v1.RestoringAnnotation: "next"})
	if _, err := releaseLock(t.Context(), l, loaded, me); err != nil {
		t.Error(err)
	}
	l.expect(t, loaded, map[string]string{v1.RestoringAnnotation: "next"})
	gone := l.create(t, map[string]string{v1.LoadingAnnotation: "me"})
	if err := l.Delete(t.Context(), gone.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	if _, err := releaseLock(t.Context(), l, gone, me); !apierrors.IsNotFound(err) {
		t.Errorf("the error %v is lost", err)
	}
}

// record checks that a Restore that has replaced data is recorded once, and the oldest is dropped.
func (l *lockTest) record(t *testing.T) {
	all := make([]string, maxRestored)
	for i := range all {
		all[i] = fmt.Sprintf("u-%d", i)
	}
	app := l.create(t, map[string]string{v1.LoadingAnnotation: "me", v1.RestoredAnnotation: strings.Join(all, ",")})
	for _, status := range []v1.RestoreStatus{
		{Dump: &v1.RestoredDump{Started: true}},
		{Volumes: []v1.RestoredVolume{{State: v1.RestoredVolumeReplacing}}},
	} {
		me := &v1.Restore{ObjectMeta: metav1.ObjectMeta{Name: "me", UID: "u-me"}, Status: status}
		if _, err := releaseLock(t.Context(), l, app, me); err != nil || !restored(app, me) {
			t.Errorf("recorded %t, error %v", restored(app, me), err)
		}
		l.expect(t, app, map[string]string{v1.RestoredAnnotation: strings.Join(append(all[1:], "u-me"), ",")})
	}
}
