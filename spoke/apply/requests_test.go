package apply

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// readOnly is an API server that panics for each request but the read of one object.
type readOnly struct {
	client.Client
	// live is nil if there is none.
	live  *unstructured.Unstructured
	err   error
	reads int
}

// GroupVersionKindFor returns the kind of an object.
func (r *readOnly) GroupVersionKindFor(o runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(o, scheme.Scheme)
}

// Scheme returns the built-in types.
func (r *readOnly) Scheme() *runtime.Scheme { return scheme.Scheme }

// Get reads the object.
func (r *readOnly) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	r.reads++
	if r.err == nil && r.live == nil {
		return apierrors.NewNotFound(corev1.Resource("configmaps"), key.Name)
	}
	if u, ok := into.(*unstructured.Unstructured); ok && r.err == nil {
		r.live.DeepCopyInto(u)
	}
	return r.err
}

// applier returns an Applier to the API server.
func (r *readOnly) applier() *Applier {
	return New(Options{Client: r, Reader: r, FieldManager: "test", Clock: clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))})
}

// owned says of each object that the application owns it.
func owned(component.Resource) bool { return true }

// stored returns a ConfigMap with some data, as it is stored from an intent that has its hash.
func stored(t *testing.T, data, version string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": data}}}
	u.SetName("settings")
	if _, err := Stamp(u); err != nil {
		t.Fatal(err)
	}
	u.SetUID("uid")
	u.SetResourceVersion(version)
	return u
}

// intended returns the intent of an object that is stored.
func intended(t *testing.T, data string) *unstructured.Unstructured {
	t.Helper()
	u := stored(t, data, "")
	unstructured.RemoveNestedField(u.Object, "metadata", "uid")
	return u
}

// TestMissingIsRead checks when an object that the cache lacks is read before it is created, and what follows from that.
func TestMissingIsRead(t *testing.T) {
	t.Parallel()
	denied := errors.New("denied")
	for name, tt := range map[string]struct {
		request Request
		written bool
	}{
		"data depends on it":     {request: Request{RequiredByClaim: "data"}},
		"its creation is held":   {request: Request{Hold: true}},
		"that, and no cache":     {request: Request{Hold: true, Uncached: true}},
		"that, and was written":  {request: Request{Hold: true}, written: true},
		"no cache, data depends": {request: Request{Uncached: true, RequiredByClaim: "data"}},
	} {
		tt.request.Intent, tt.request.Owned = intended(t, "1"), owned
		for what, server := range map[string]*readOnly{"there": {live: stored(t, "1", "7")}, "not there": {}, "not known": {err: denied}} {
			a := server.applier()
			if tt.written {
				a.remember(writeRecord{answer: stored(t, "0", "6")})
			}
			result, err := a.Apply(t.Context(), tt.request)
			_, lost := errors.AsType[*LostError](err)
			switch {
			case server.reads != 1:
				t.Errorf("%s, %s: %d reads", name, what, server.reads)
			case what == "there" && (err != nil || result.Outcome != Unchanged), what == "not known" && !errors.Is(err, denied):
				t.Errorf("%s, %s: %s, %v", name, what, result.Outcome, err)
			case what == "not there" && (lost != (tt.request.RequiredByClaim != "") || !lost && (result.Outcome != Held || result.Change.Action != v1.PendingCreate)):
				t.Errorf("%s, %s: %+v, %v", name, what, result, err)
			}
		}
	}
}

// TestCacheIsBehind checks that an object that the cache lacks is read first where there is no cache, or if it was written
// before.
func TestCacheIsBehind(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]Request{"no cache": {Uncached: true}, "written before": {}} {
		server := &readOnly{live: stored(t, "1", "7")}
		a := server.applier()
		if request.Intent, request.Owned = intended(t, "1"), owned; !request.Uncached {
			a.remember(writeRecord{answer: stored(t, "0", "6")})
		}
		if result, err := a.Apply(t.Context(), request); err != nil || result.Outcome != Unchanged || server.reads != 1 {
			t.Errorf("%s: %s after %d reads, %v", name, result.Outcome, server.reads, err)
		}
	}
}

// TestExpected checks for how long an object that was created is expected in the cache, from the same intent alone.
func TestExpected(t *testing.T) {
	t.Parallel()
	began := time.Unix(1e9, 0)
	for name, tt := range map[string]struct {
		request Request
		created time.Duration
		want    time.Duration
	}{
		"a moment ago":   {Request{Intent: intended(t, "1"), ExpectFor: time.Minute}, 10 * time.Second, 50 * time.Second},
		"long ago":       {Request{Intent: intended(t, "1"), ExpectFor: time.Minute}, time.Hour, 0},
		"not expected":   {Request{Intent: intended(t, "1")}, 0, 0},
		"another intent": {Request{Intent: intended(t, "2"), ExpectFor: time.Minute}, 0, 0},
		"no cache":       {Request{Intent: intended(t, "1"), ExpectFor: time.Minute, Uncached: true}, 0, 0},
	} {
		a := (&readOnly{}).applier()
		if got := a.expected(tt.request.Intent, tt.request); got != 0 {
			t.Errorf("%s, not written: expected for %s", name, got)
		}
		a.remember(writeRecord{answer: stored(t, "1", "7"), created: began.Add(-tt.created)})
		if got := a.expected(tt.request.Intent, tt.request); got != tt.want {
			t.Errorf("%s: expected for %s, want %s", name, got, tt.want)
		}
		tt.request.Hold, tt.request.Owned = true, owned
		if result, err := a.Apply(t.Context(), tt.request); err != nil || result.Wait != tt.want || (result.Outcome == Expected) != (tt.want > 0) {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
	}
}

// TestKnownToMatch checks that an object that needs no write is known afterwards, and one that has to be written, or may
// not be, is not: it would be taken for one that needs none.
func TestKnownToMatch(t *testing.T) {
	t.Parallel()
	ending := stored(t, "1", "7")
	ending.SetDeletionTimestamp(new(metav1.Unix(1, 0)))
	for name, tt := range map[string]struct {
		live    *unstructured.Unstructured
		hold    bool
		outcome Outcome
		known   bool
	}{
		"as intended":       {stored(t, "1", "7"), false, Unchanged, true},
		"that, held":        {stored(t, "1", "7"), true, Unchanged, true},
		"the write is held": {stored(t, "2", "7"), true, Held, false},
		"being deleted":     {ending, false, Terminating, false},
	} {
		a := (&readOnly{}).applier()
		request := Request{Intent: intended(t, "1"), Live: tt.live, Hold: tt.hold, Owned: owned}
		result, err := a.Apply(t.Context(), request)
		if known := a.isMatched(request); err != nil || result.Outcome != tt.outcome || known != tt.known {
			t.Errorf("%s: %s, %v; known to match: %t", name, result.Outcome, err, known)
		}
	}
}

// TestHeldOfOthers checks that nothing is sent for an object that matches while writes are held or tried, although another
// client owns its fields.
func TestHeldOfOthers(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]Options{"held": {}, "a dry run": {DryRun: true}} {
		server := &readOnly{}
		options.Client, options.Reader, options.Slim = server, server, owned
		a := New(options)
		content, err := contentOf(stored(t, "1", "7"))
		if err != nil {
			t.Fatal(err)
		}
		result, err := a.update(t.Context(), update{intent: intended(t, "1"), live: stored(t, "1", "7"), content: content, hold: !options.DryRun})
		if err != nil || result.Outcome != Unchanged {
			t.Errorf("%s: %s, %v", name, result.Outcome, err)
		}
	}
}

// TestOverwriteNewer checks that after a conflict nothing is sent over what has changed since, and nothing is due if it
// is as intended by now.
func TestOverwriteNewer(t *testing.T) {
	t.Parallel()
	conflict, denied := apierrors.NewConflict(corev1.Resource("configmaps"), "settings", nil), errors.New("denied")
	changed := func(change func(*unstructured.Unstructured)) *readOnly {
		live := stored(t, "1", "8")
		change(live)
		return &readOnly{live: live}
	}
	for name, tt := range map[string]struct {
		server *readOnly
		want   error
	}{
		"as intended by now": {&readOnly{live: stored(t, "2", "8")}, nil},
		"edited":             {&readOnly{live: stored(t, "3", "8")}, conflict},
		"gone":               {&readOnly{}, conflict},
		"made anew":          {changed(func(u *unstructured.Unstructured) { u.SetUID("other") }), conflict},
		"being deleted":      {changed(func(u *unstructured.Unstructured) { u.SetDeletionTimestamp(new(metav1.Unix(1, 0))) }), conflict},
		"a label":            {changed(func(u *unstructured.Unstructured) { u.SetLabels(map[string]string{"theirs": "1"}) }), conflict},
		"not known":          {&readOnly{err: denied}, denied},
	} {
		a := tt.server.applier()
		over, err := a.basisOf(component.KeyOf(intended(t, "2")), stored(t, "1", "7"))
		if err != nil {
			t.Fatal(err)
		}
		if written, err := a.overwriteNewer(t.Context(), intended(t, "2"), over, conflict); written != nil || !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
}

// TestBasis checks that a write is decided on the object as this process wrote it while the cache is behind that, and
// otherwise on what the cache has.
func TestBasis(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		written bool
		live    string
		want    string
		done    bool
	}{
		"not written":         {false, "6", "6", false},
		"the cache is behind": {true, "6", "7", true},
		"the cache has it":    {true, "7", "7", true},
		"edited since":        {true, "8", "8", false},
	} {
		a := (&readOnly{}).applier()
		if tt.written {
			a.remember(writeRecord{intent: "sum", over: "6", answer: stored(t, "1", "7")})
		}
		live := stored(t, map[string]string{"6": "0", "7": "1", "8": "2"}[tt.live], tt.live)
		key := component.KeyOf(live)
		over, err := a.basisOf(key, live)
		if err != nil || over.version != tt.want || over.uid != live.GetUID() {
			t.Errorf("%s: over %s, %v; want %s", name, over.version, err, tt.want)
		}
		if done, err := a.done(key, "sum", live); err != nil || done != tt.done {
			t.Errorf("%s: done %t, %v", name, done, err)
		}
		if done, err := a.done(key, "another", live); err != nil || done {
			t.Errorf("%s: another intent is done: %t, %v", name, done, err)
		}
	}
}

// TestIsBehind checks that a cache without content is behind only the write of the same intent over what it has.
func TestIsBehind(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		intent, version string
		want            bool
	}{
		"the version that was replaced": {"1", "6", true},
		"the one that was written":      {"1", "7", false},
		"another intent":                {"2", "6", false},
	} {
		a := (&readOnly{}).applier()
		request := Request{Intent: intended(t, tt.intent), Live: stored(t, "0", tt.version)}
		if a.isBehind(request) {
			t.Errorf("%s: behind although nothing was written", name)
		}
		a.remember(writeRecord{over: "6", answer: stored(t, "1", "7")})
		if got := a.isBehind(request); got != tt.want {
			t.Errorf("%s: behind: %t", name, got)
		}
	}
}

// TestStamped checks that an intent is sent with a hash: its own, or one that is made.
func TestStamped(t *testing.T) {
	t.Parallel()
	own, none := intended(t, "1"), intended(t, "1")
	own.SetAnnotations(map[string]string{v1.SpecHashAnnotation: "own"})
	none.SetAnnotations(nil)
	for want, intent := range map[string]*unstructured.Unstructured{"own": own, component.SpecHash(intended(t, "1")): none} {
		if got, err := (&readOnly{}).applier().intent(Request{Intent: intent}); err != nil || component.SpecHash(got) != want {
			t.Errorf("hash %q, %v; want %q", component.SpecHash(got), err, want)
		}
	}
}

// TestStampedContent checks that the content that Stamp returns is what is sent without it.
func TestStampedContent(t *testing.T) {
	t.Parallel()
	claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}}
	for _, object := range []component.Resource{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"a": "b"}},
		&appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Name: "database", Annotations: map[string]string{"a": "b"}},
			Spec:       appsv1.StatefulSetSpec{VolumeClaimTemplates: []corev1.PersistentVolumeClaim{claim}},
		},
		intended(t, "1"),
	} {
		content, err := Stamp(object)
		if err != nil {
			t.Fatal(err)
		}
		a := (&readOnly{}).applier()
		want, err := a.intent(Request{Intent: object})
		if err != nil {
			t.Fatal(err)
		}
		got, err := a.intent(Request{Intent: object, Content: content})
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%T, %v (-without +with the content):\n%s", object, err, diff)
		}
	}
}

// TestNotesFingerprints checks that of an object whose content the cache lacks nothing is known without a fingerprint.
func TestNotesFingerprints(t *testing.T) {
	t.Parallel()
	a, intent := New(Options{FieldManager: "test", Slim: owned}), hashed("settings", "1")
	live := hashed("settings", "1")
	if a.note(live, intent); len(a.matches) > 0 {
		t.Error("it is known without a fingerprint")
	}
	live.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "test", Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(`{"f:data":{}}`)}})
	if a.note(live, intent); len(a.matches) != 1 {
		t.Error("it is not known")
	}
}

// TestAddGenerated checks that data is generated for Secrets alone, beside what an intent has, and that stored data counts
// if it can be read.
func TestAddGenerated(t *testing.T) {
	t.Parallel()
	a, g := New(Options{}), &component.Generate{Random: map[string]int{"password": 3}}
	secret := func(data map[string]any) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
		if data != nil {
			u.Object["data"] = data
		}
		return u
	}
	existing := dataOf(map[string]any{"data": map[string]any{"password": encode([]byte("abc")), "malformed": "?", "number": int64(1)}})
	if len(existing) != 2 || string(existing["password"]) != "abc" || len(existing["number"]) > 0 {
		t.Errorf("the data is %q", existing)
	}
	for name, tt := range map[string]struct {
		intent *unstructured.Unstructured
		g      *component.Generate
		keys   int
		err    error
	}{
		"alone":              {secret(nil), g, 1, nil},
		"beside other data":  {secret(map[string]any{"user": "YQ=="}), g, 2, nil},
		"nothing":            {secret(map[string]any{"user": "YQ=="}), nil, 1, nil},
		"no Secret":          {stored(t, "1", "7"), g, 1, errNotSecret},
		"an invalid request": {secret(nil), &component.Generate{Random: map[string]int{"other": 0}}, 0, errLength},
	} {
		err := a.addGenerated(tt.intent, existing, tt.g)
		data, _ := tt.intent.Object["data"].(map[string]any)
		if !errors.Is(err, tt.err) || len(data) != tt.keys || data["password"] != nil && data["password"] != encode([]byte("abc")) {
			t.Errorf("%s: %v, %v", name, data, err)
		}
	}
}
