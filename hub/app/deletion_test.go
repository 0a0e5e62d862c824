package app

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/copies"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
	"github.com/shopfleet/shopfleet/hub/app/recovery/store"
)

func TestAbandon(t *testing.T) {
	t.Parallel()
	deleted := time.Unix(1000, 0)
	lost := func(name string, seconds int64) aggregate.Cluster {
		observed := metav1.Unix(seconds, 0)
		return aggregate.Cluster{Name: name, Connection: aggregate.Lost, LastObserved: &observed}
	}
	clusters := []aggregate.Cluster{
		lost("before", 900), lost("during", 1030), {Name: "never", Connection: aggregate.Lost},
		{Name: "connected"}, {Name: "connecting", Connection: aggregate.Connecting},
		{Name: "paused", Paused: true}, lost("paused and lost", 900),
	}
	clusters[len(clusters)-1].Paused = true
	for name, tt := range map[string]struct {
		alive   bool
		timeout *metav1.Duration
		skip    string
		after   time.Duration
		want    []string
		wait    time.Duration
	}{
		"by default it waits for ever":                {after: 24 * time.Hour},
		"so it does with a timeout of zero":           {timeout: &metav1.Duration{}, after: 24 * time.Hour},
		"before the timeout":                          {timeout: &metav1.Duration{Duration: time.Minute}, after: 59 * time.Second, wait: time.Second},
		"at the timeout, counted from the deletion":   {timeout: &metav1.Duration{Duration: time.Minute}, after: time.Minute, want: []string{"before", "never"}, wait: 30 * time.Second},
		"at the timeout, counted from the last probe": {timeout: &metav1.Duration{Duration: time.Minute}, after: 90 * time.Second, want: []string{"before", "during", "never"}},
		"at once by annotation":                       {skip: "true", want: []string{"before", "during", "never", "paused", "paused and lost"}},
		"another value has no effect":                 {skip: "yes", after: 24 * time.Hour},
		"only what is being deleted":                  {alive: true, skip: "true", timeout: &metav1.Duration{Duration: time.Second}, after: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := &v1.EcommerceApp{}
			app.Spec.Deletion.UnreachableTimeout = tt.timeout
			app.Annotations = map[string]string{v1.SkipUnreachableAnnotation: tt.skip}
			if !tt.alive {
				app.DeletionTimestamp = new(metav1.NewTime(deleted))
			}
			observed := append([]aggregate.Cluster(nil), clusters...)
			wait := abandon(app, observed, deleted.Add(tt.after))
			var got []string
			for _, c := range observed {
				if c.Abandoned {
					got = append(got, c.Name)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || wait != tt.wait {
				t.Errorf("wait %s, want %s; abandoned (-want +got):\n%s", wait, tt.wait, diff)
			}
		})
	}
}

// TestAbandonAfterRestart checks that a hub that starts beside a member that does not respond counts from when it
// noticed that, and not from what its predecessor observed.
func TestAbandonAfterRestart(t *testing.T) {
	t.Parallel()
	deleted := time.Unix(1000, 0)
	noticed := deleted.Add(2 * time.Hour)
	app := &v1.EcommerceApp{}
	app.DeletionTimestamp = new(metav1.NewTime(deleted))
	app.Spec.Deletion.UnreachableTimeout = &metav1.Duration{Duration: time.Hour}
	r := &Reconciler{dispatcher: copies.New(nil, copies.Options{})}
	for name, since := range map[string]map[string]time.Time{
		"ready before":     {v1.ConditionReady: noticed, v1.ConditionConnected: noticed},
		"not ready before": {v1.ConditionReady: deleted.Add(-time.Hour), v1.ConditionConnected: noticed},
		"silent agent":     {v1.ConditionReady: noticed, v1.ConditionConnected: deleted.Add(-time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &v1.MemberCluster{}
			m.Status.LastObservedTime = new(metav1.NewTime(deleted.Add(-time.Minute)))
			for kind, at := range since {
				m.Status.Conditions = append(m.Status.Conditions, metav1.Condition{
					Type: kind, Status: metav1.ConditionFalse, Reason: v1.ReasonProbeFailed, LastTransitionTime: metav1.NewTime(at),
				})
			}
			c, err := r.observeMember(t.Context(), app, m, nil)
			if err != nil {
				t.Fatal(err)
			}
			early := []aggregate.Cluster{c}
			if wait := abandon(app, early, noticed.Add(15*time.Second)); early[0].Abandoned || wait != time.Hour-15*time.Second {
				t.Errorf("after 15 s: abandoned %t, wait %s", early[0].Abandoned, wait)
			}
			if late := []aggregate.Cluster{c}; abandon(app, late, noticed.Add(time.Hour)) != 0 || !late[0].Abandoned {
				t.Error("after an hour: not abandoned")
			}
		})
	}
}

func TestResidueIn(t *testing.T) {
	t.Parallel()
	in := aggregate.Input{Deleting: true, Clusters: []aggregate.Cluster{
		{Name: "gone", Gone: true}, {Name: "deleting"},
		{Name: "lost", Connection: aggregate.Lost}, {Name: "abandoned", Connection: aggregate.Lost, Abandoned: true},
		{Name: "detached", Connection: aggregate.Detached}, {Name: "never held a copy", Connection: aggregate.Detached},
	}}
	for _, name := range []string{"gone", "deleting", "lost", "unregistered", "detached", "abandoned"} {
		in.Previous.Clusters = append(in.Previous.Clusters, v1.ClusterStatus{Name: name})
	}
	next := aggregate.Compute(in)
	if diff := cmp.Diff([]string{"abandoned", "detached", "unregistered"}, residueIn(in, next)); diff != "" {
		t.Errorf("left behind (-want +got):\n%s", diff)
	}
	in.Deleting = false
	if got := residueIn(in, aggregate.Compute(in)); got != nil {
		t.Errorf("an application that is not deleted leaves %v behind", got)
	}
}

// deleted deletes the application, which a cluster holds a copy of that left the fleet.
func (w *writer) deleted(t *testing.T, cluster string) *v1.EcommerceApp {
	t.Helper()
	app := w.stored(t)
	app.Finalizers = []string{v1.HubFinalizer}
	if err := w.client.Update(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	app.Status = v1.EcommerceAppStatus{ObservedGeneration: 1, ClusterCount: 1, Clusters: []v1.ClusterStatus{{Name: cluster}}}
	if err := errors.Join(w.client.Status().Update(t.Context(), app), w.client.Delete(t.Context(), app)); err != nil {
		t.Fatal(err)
	}
	return app
}

// testResidueFull checks that a deletion waits while its residue cannot be recorded, says what to do, and goes on
// when the record is no longer full.
func testResidueFull(t *testing.T, w *writer) {
	t.Helper()
	w.dispatcher = copies.New(w.client, copies.Options{Residue: store.New(w.client, "default")})
	w.deleted(t, "full")
	record := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: recovery.Name("full")},
		Data:       map[string]string{"others": strings.Repeat("x", recovery.MaxBytes-len("others"))},
	}
	if err := w.client.Create(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	for range 2 { // Once more: an application that waits is not written again.
		if result, err := w.Reconcile(t.Context(), reconcile.Request{NamespacedName: w.key}); err != nil || result.RequeueAfter != 0 {
			t.Errorf("result %+v, error %v: what it waits for is watched", result, err)
		}
	}
	waiting := w.stored(t)
	held := meta.FindStatusCondition(waiting.Status.Conditions, v1.ConditionDeleting)
	if held == nil || held.Reason != v1.ReasonResidueFull || !strings.Contains(held.Message, "delete the ConfigMap "+record.Name) {
		t.Errorf("condition %+v does not say what to do", held)
	}
	w.state.Deliver(nil, waiting)
	c := &Controller{state: w.state}
	if woken := c.unrecorded("full"); len(woken) != 1 || woken[0].NamespacedName != w.key {
		t.Errorf("a change of the record wakes %v", woken)
	}
	if woken := c.unrecorded("other"); len(woken) > 0 {
		t.Errorf("a change of another record wakes %v", woken)
	}
	if err := w.client.Delete(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Reconcile(t.Context(), reconcile.Request{NamespacedName: w.key}); err != nil {
		t.Error(err)
	}
	if err := w.client.Get(t.Context(), w.key, &v1.EcommerceApp{}); !apierrors.IsNotFound(err) {
		t.Errorf("reading the application: %v, want it released", err)
	}
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(record), record); err != nil || len(record.Data) != 1 {
		t.Errorf("the record is %v: %v", record.Data, err)
	}
}

// testResidue fails each write of a deletion in turn, as a crash does.
func testResidue(t *testing.T, w *writer) {
	t.Helper()
	direct, app := w.client, w.deleted(t, "away")
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: recovery.Name("away")}}
	for _, step := range []struct {
		name             string
		refuses          client.Object
		released, stored bool
	}{
		{"the record cannot be written", &corev1.ConfigMap{}, false, false},
		{"the finalizer cannot be removed", &v1.EcommerceApp{}, false, true},
		{"every write succeeds", nil, true, true},
	} {
		faulty := &refusing{Client: direct, kind: step.refuses}
		w.client, w.dispatcher = faulty, copies.New(faulty, copies.Options{Residue: store.New(faulty, "default")})
		_, err := w.Reconcile(t.Context(), reconcile.Request{NamespacedName: w.key})
		if (err == nil) != step.released {
			t.Errorf("%s: error %v", step.name, err)
		}
		if err := direct.Get(t.Context(), w.key, &v1.EcommerceApp{}); apierrors.IsNotFound(err) != step.released {
			t.Errorf("%s: reading the application: %v", step.name, err)
		}
		if err := direct.Get(t.Context(), client.ObjectKeyFromObject(record), record); (err == nil) != step.stored {
			t.Errorf("%s: reading the record: %v", step.name, err)
		}
	}
	records, invalid := recovery.Decode(record.Data)
	if len(records) != 1 || invalid != nil || records[0].Key() != w.key || records[0].App != app.UID {
		t.Errorf("recorded %+v and %v, want %s of %s once", records, invalid, w.key, app.UID)
	}
}

// testReleasedBackups checks that an application is not released before its Backups say what it wanted for them, and that
// those of another one of its name, and what a user wrote, stay as they are.
func testReleasedBackups(t *testing.T, w *writer) {
	t.Helper()
	app := w.stored(t)
	app.Finalizers, app.Spec.Deletion.Backups = []string{v1.HubFinalizer}, v1.DeletionDelete
	if err := w.client.Update(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	app.Status.ObservedGeneration = app.Generation // Otherwise its copies are looked for in all members.
	if err := w.client.Status().Update(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	backups := map[string]struct {
		app               types.UID
		annotation, after string
	}{"own": {app.UID, "", "false"}, "kept": {app.UID, "true", "true"}, "former": {"u-1", "", ""}}
	key := func(name string) client.ObjectKey {
		return client.ObjectKey{Namespace: app.Namespace, Name: app.Name + "-" + name}
	}
	for name, tt := range backups {
		b := &v1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: key(name).Name}}
		b.Spec.AppRef.Name, b.Spec.ClusterRef.Name = app.Name, "eu-1"
		if tt.annotation != "" {
			b.Annotations = map[string]string{v1.KeepNewestAnnotation: tt.annotation}
		}
		err := w.client.Create(t.Context(), b)
		if b.Status.AppUID = string(tt.app); err == nil {
			err = w.client.Status().Update(t.Context(), b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.client.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	direct := w.client
	for _, kind := range []client.Object{&v1.Backup{}, nil} {
		w.client = &refusing{Client: direct, kind: kind}
		_, err := w.Reconcile(t.Context(), reconcile.Request{NamespacedName: w.key})
		if refused := kind != nil; errors.Is(err, errRefused) != refused {
			t.Errorf("refused %t: %v", refused, err)
		} else if err := direct.Get(t.Context(), w.key, &v1.EcommerceApp{}); apierrors.IsNotFound(err) == refused {
			t.Errorf("refused %t, reading the application: %v", refused, err)
		}
	}
	for name, tt := range backups {
		b := &v1.Backup{}
		if err := direct.Get(t.Context(), key(name), b); err != nil || b.Annotations[v1.KeepNewestAnnotation] != tt.after {
			t.Errorf("%s: %q, want %q: %v", name, b.Annotations[v1.KeepNewestAnnotation], tt.after, err)
		}
	}
}

// refusing refuses to write one kind.
type refusing struct {
	client.Client
	kind client.Object
}

var errRefused = errors.New("refused")

func (r *refusing) refuses(o client.Object) bool { return reflect.TypeOf(o) == reflect.TypeOf(r.kind) }

// Create fails for the kind.
func (r *refusing) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if r.refuses(o) {
		return errRefused
	}
	return r.Client.Create(ctx, o, opts...)
}

// Patch fails for the kind.
func (r *refusing) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if r.refuses(o) {
		return errRefused
	}
	return r.Client.Patch(ctx, o, patch, opts...)
}
