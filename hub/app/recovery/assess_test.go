package recovery

import (
	"cmp"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// reasonOf returns the reason of an assessment; empty if it finds nothing.
func reasonOf(err error) string {
	if unknown, is := errors.AsType[*UnknownError](err); is {
		return unknown.Reason
	}
	return ""
}

// TestAssessCopy checks what a hub that was restored from an older backup does with the copies that it finds.
func TestAssessCopy(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]knownTest{
		"older":                               {uid: "u-1", generation: "6"},
		"same":                                {uid: "u-1", generation: "7"},
		"newer":                               {uid: "u-1", generation: "8", refused: true},
		"newer, with this spec":               {uid: "u-1", generation: "8", image: "shop:v2"},
		"newer, restarted since":              {uid: "u-1", generation: "8", image: "shop:v2", restarted: "2026-11-23T12:00:00Z", refused: true},
		"newer, accepted":                     {uid: "u-1", generation: "8", accepted: "u-0/3, u-1/8"},
		"older than what is accepted":         {uid: "u-1", generation: "8", accepted: "u-1/9", refused: true},
		"newer than what is accepted":         {uid: "u-1", generation: "9", accepted: "u-1/8", refused: true},
		"newer, of another accepted":          {uid: "u-1", generation: "8", accepted: "u-0/8", refused: true},
		"reached, and waits":                  {uid: "u-1", generation: "7", waiting: "u-1/7", refused: true},
		"surpassed, and waits":                {uid: "u-1", generation: "5", waiting: "u-1/5", refused: true},
		"surpassed, and waits, accepted":      {uid: "u-1", generation: "5", waiting: "u-1/5", accepted: "u-1/5"},
		"surpassed, and waits, with its spec": {uid: "u-1", generation: "5", waiting: "u-1/5", image: "shop:v2"},
		"written since another one waited":    {uid: "u-1", generation: "7", waiting: "u-1/5"},
		"edited by hand":                      {uid: "u-1", generation: "soon"},
		"stripped":                            {uid: "", generation: "9"},
		"of another":                          {uid: "u-0", generation: "1", refused: true},
		"of another, accepted":                {uid: "u-0", generation: "1", accepted: "u-0/1"},
		"of another, with this spec":          {uid: "u-0", generation: "1", image: "shop:v2"},
		"of one that was deleted":             {uid: "u-gone", generation: "9"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.check(t)
		})
	}
}

type knownTest struct {
	uid, generation, image string
	accepted, waiting      string
	restarted              string
	refused                bool
}

// check compares the copy in both forms in which queues get it, and with a deletion.
func (k knownTest) check(t *testing.T) {
	t.Helper()
	app := &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{UID: "u-1", Generation: 7, Annotations: map[string]string{v1.RecoverAnnotation: k.accepted}},
		Spec:       v1.EcommerceAppSpec{Image: "shop:v2"},
	}
	live := &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
			v1.HubAppUIDAnnotation: k.uid, v1.HubGenerationAnnotation: k.generation, v1.RestartedAtAnnotation: k.restarted,
		}},
		Spec: v1.EcommerceAppSpec{Image: cmp.Or(k.image, "shop:v1")},
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		t.Fatal(err)
	}
	compared := Facts{App: app, Intent: app, Live: live, Waiting: k.waiting, FormerDeleted: k.uid == "u-gone"}
	raw := compared
	raw.Live = &unstructured.Unstructured{Object: content}
	for _, err := range []error{AssessCopy(compared), AssessCopy(raw)} {
		if reasonOf(err) == v1.ReasonNewerInMember != k.refused || err != nil && !k.refused {
			t.Errorf("got %v, want that it is refused: %t", err, k.refused)
		}
		want := ""
		if k.refused {
			want = k.uid + "/" + k.generation
		}
		if origin := OriginAfter(err, k.waiting); origin != want {
			t.Errorf("%q waits for the user, want %q", origin, want)
		}
	}
	// A copy with the same spec may be newer by its placement.
	compared.Intent = nil
	same := k.image != "" && k.accepted == ""
	if err := AssessCopy(compared); (err != nil) != (k.refused || same) {
		t.Errorf("the deletion is answered with %v", err)
	}
}

// TestAssess finds first what the member has recorded, then what the copy says and, without one, what others have.
func TestAssess(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	deletion, departure := v1.DeletionOrigin("u-1", day), v1.LeavingOrigin("u-1", 8)
	with := func(change func(*Facts)) Facts {
		f := Facts{App: &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{UID: "u-1", Generation: 7}}}
		change(&f)
		return f
	}
	accepting := func(f Facts, origin string) Facts {
		f.App.Annotations = map[string]string{v1.RecoverAnnotation: origin}
		return f
	}
	live := func(generation string) *v1.EcommerceApp {
		return &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1.HubAppUIDAnnotation: "u-1", v1.HubGenerationAnnotation: generation}}}
	}
	leaving := live("7")
	leaving.DeletionTimestamp = &metav1.Time{}
	later := []Other{{Name: "b"}, {Name: "c", Later: "u-1/9"}, {Name: "d", Away: true, Connecting: true}}
	const newer = v1.ReasonNewerElsewhere
	for name, tt := range map[string]struct {
		facts          Facts
		reason, origin string
		unobserved     bool
	}{
		"nothing":                         {facts: with(func(*Facts) {})},
		"a deletion":                      {facts: with(func(f *Facts) { f.DeletedAt = day }), reason: v1.ReasonDeletedInMember, origin: deletion},
		"a deletion, with a copy":         {facts: with(func(f *Facts) { f.DeletedAt, f.Live = day, live("7") }), reason: v1.ReasonDeletedInMember, origin: deletion},
		"a deletion that was forgotten":   {facts: with(func(f *Facts) { f.Waiting = deletion }), reason: v1.ReasonDeletedInMember, origin: deletion},
		"a deletion of a former one":      {facts: with(func(f *Facts) { f.Waiting = v1.DeletionOrigin("u-0", day) })},
		"a deletion that is accepted":     {facts: accepting(with(func(f *Facts) { f.DeletedAt = day }), deletion)},
		"a later deletion than accepted":  {facts: accepting(with(func(f *Facts) { f.DeletedAt = day.Add(time.Hour) }), deletion), reason: v1.ReasonDeletedInMember, origin: v1.DeletionOrigin("u-1", day.Add(time.Hour))},
		"a departure":                     {facts: with(func(f *Facts) { f.Left = 8 }), reason: newer, origin: departure},
		"a departure, and a copy since":   {facts: with(func(f *Facts) { f.Left, f.Live = 8, live("7") })},
		"a departure, the copy is ending": {facts: with(func(f *Facts) { f.Left, f.Live = 8, leaving }), reason: newer, origin: departure},
		"a departure that was forgotten":  {facts: with(func(f *Facts) { f.Waiting = departure }), reason: newer, origin: departure},
		"a departure that is accepted":    {facts: accepting(with(func(f *Facts) { f.Left = 8 }), departure)},
		"a former departure":              {facts: with(func(f *Facts) { f.Left = 6 })},
		"a departure by this generation":  {facts: with(func(f *Facts) { f.Left = 7 })},
		"the same, of a known copy":       {facts: with(func(f *Facts) { f.Left, f.HadCopy = 7, true }), reason: newer, origin: v1.LeavingOrigin("u-1", 7)},
		"a later copy":                    {facts: with(func(f *Facts) { f.Live, f.Elsewhere = live("9"), "b" }), reason: v1.ReasonNewerInMember, origin: "u-1/9"},
		"a copy, and a later elsewhere":   {facts: with(func(f *Facts) { f.Live, f.Others, f.Elsewhere = live("7"), later, "c" })},
		"a later copy elsewhere":          {facts: with(func(f *Facts) { f.HadCopy, f.Others, f.Elsewhere = true, later, "b" }), reason: newer, origin: "u-1/9"},
		"one is about to be connected":    {facts: with(func(f *Facts) { f.HadCopy, f.Others, f.Elsewhere = true, later[2:], "b" }), unobserved: true},
		"one is lost":                     {facts: with(func(f *Facts) { f.HadCopy, f.Others = true, []Other{{Name: "b", Away: true}} })},
		"one that is waited for is lost":  {facts: with(func(f *Facts) { f.Waiting, f.Others = "u-1/9", []Other{{Name: "b", Away: true}} }), reason: newer, origin: "u-1/9"},
		"one that is waited for is there": {facts: with(func(f *Facts) { f.Waiting, f.Others = "u-1/9", later[:1] })},
		"what waits elsewhere":            {facts: with(func(f *Facts) { f.Elsewhere = "b" }), reason: newer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := Assess(tt.facts)
			if errors.Is(err, ErrUnobserved) != tt.unobserved || reasonOf(err) != tt.reason || OriginAfter(err, "") != tt.origin && !tt.unobserved || err == nil != (tt.reason == "" && !tt.unobserved) {
				t.Errorf("found %v (%s, %q), want %s, %q", err, reasonOf(err), OriginAfter(err, ""), tt.reason, tt.origin)
			}
		})
	}
}

// TestLater checks that a copy elsewhere is later by its generation or by what the inventory says, unless it is what
// the hub would write there.
func TestLater(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		generation, waiting, accepted string
		listed, same, another         bool
		want                          string
	}{
		"later":                         {generation: "9", want: "u-1/9"},
		"later, and listed":             {generation: "9", listed: true, want: "u-1/9"},
		"later, listed, with this spec": {generation: "9", listed: true, same: true},
		"later, moved, with this spec":  {generation: "9", same: true, want: "u-1/9"},
		"later, accepted":               {generation: "9", accepted: "u-1/9"},
		"the same":                      {generation: "7"},
		"it waits, and is reached":      {generation: "6", listed: true, waiting: "u-1/6", want: "u-1/6"},
		"another waits":                 {generation: "6", listed: true, waiting: "u-1/5"},
		"of another application":        {generation: "9", another: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{UID: "u-1", Generation: 7, Annotations: map[string]string{v1.RecoverAnnotation: tt.accepted}}}
			app.Spec.Image = "shop:v2"
			live := app.DeepCopy()
			live.Annotations = map[string]string{v1.HubAppUIDAnnotation: "u-1", v1.HubGenerationAnnotation: tt.generation}
			if !tt.same {
				live.Spec.Image = "shop:v3"
			}
			if tt.another {
				live.Annotations[v1.HubAppUIDAnnotation] = "u-0"
			}
			if got := Later(Facts{App: app, Live: live, Intent: app, Waiting: tt.waiting}, tt.listed, tt.waiting); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
