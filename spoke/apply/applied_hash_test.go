package apply

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// slimApplier returns an Applier of a cache that keeps the content of objects whose name is whole, and of no others.
func slimApplier() *Applier {
	return New(Options{Slim: func(r component.Resource) bool { return r.GetName() != "whole" }})
}

// hashed returns an intent with a hash.
func hashed(name, hash string) component.Resource {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{v1.SpecHashAnnotation: hash}},
	}
}

// cached returns an object as a cache without content has it, which was written from an intent with a hash.
func cached(name, hash string, fingerprint uint64) component.Resource {
	live := hashed(name, "")
	live.SetUID("uid")
	live.SetResourceVersion("7")
	component.Applied{Hash: hash, Fingerprint: fingerprint}.Record(live)
	return live
}

// liveOf returns objects by their keys.
func liveOf(objects ...component.Resource) component.Live {
	live := component.Live{}
	for _, o := range objects {
		live[component.KeyOf(o)] = o
	}
	return live
}

// TestAppliedHash checks that an applied hash exists while all objects that are live are as intended, and says what they
// are, whatever is missing, or has its content in the cache.
func TestAppliedHash(t *testing.T) {
	t.Parallel()
	a, whole := slimApplier(), hashed("whole", "1")
	one, two := hashed("one", "1"), hashed("two", "1")
	whole.SetResourceVersion("7")
	for _, written := range []struct {
		live, intent component.Resource
	}{{cached("one", "1", 1), one}, {cached("two", "1", 2), two}, {whole, whole}, {cached("former", "0", 3), hashed("former", "0")}} {
		a.putMatch(component.KeyOf(written.intent), a.matchOf(written.live, written.intent))
	}
	a.putMatch(component.KeyOf(hashed("by version", "1")), a.matchOf(whole, hashed("by version", "1")))
	of := func(live component.Live, intents ...component.Resource) string { return a.AppliedHash(intents, live) }
	both := of(component.Live{}, one, two)
	for name, tt := range map[string]struct{ got, want string }{
		"none":                                  {of(component.Live{}), ""},
		"one that has its content in the cache": {of(liveOf(whole), whole), ""},
		"that and others":                       {of(liveOf(whole), whole, one, two), both},
		"one that does not exist":               {of(component.Live{}, one, hashed("missing", "1"), two), both},
		"one that is not known":                 {of(liveOf(cached("unknown", "1", 1)), one, hashed("unknown", "1"), two), ""},
		"one that was written from another":     {of(component.Live{}, one, hashed("former", "1"), two), ""},
		"one without a fingerprint":             {of(component.Live{}, one, hashed("by version", "1"), two), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", name, tt.got, tt.want)
		}
	}
	if first := of(component.Live{}, one); both == "" || first == "" || first == both {
		t.Errorf("of one %q, of both %q", first, both)
	}
}

// TestRecall checks that a process trusts the applied hash of another for the objects that are as they were then, and that
// have the present intent.
func TestRecall(t *testing.T) {
	t.Parallel()
	one, two := hashed("one", "1"), hashed("two", "1")
	former := slimApplier()
	for intent, live := range map[component.Resource]component.Resource{one: cached("one", "1", 1), two: cached("two", "1", 2)} {
		former.putMatch(component.KeyOf(intent), former.matchOf(live, intent))
	}
	sum := former.AppliedHash([]component.Resource{one, two}, component.Live{})
	whole := hashed("whole", "1")
	for name, tt := range map[string]struct {
		sum     string
		intents []component.Resource
		live    component.Live
		want    int
	}{
		"as they were":                    {sum, []component.Resource{one, two}, liveOf(cached("one", "1", 1), cached("two", "1", 2)), 2},
		"beside one with its content":     {sum, []component.Resource{whole, one, two}, liveOf(whole, cached("one", "1", 1), cached("two", "1", 2)), 2},
		"beside one that does not exist":  {sum, []component.Resource{one, hashed("new", "1"), two}, liveOf(cached("one", "1", 1), cached("two", "1", 2)), 2},
		"one of them has another intent":  {sum, []component.Resource{one, hashed("two", "2")}, liveOf(cached("one", "1", 1), cached("two", "1", 2)), 1},
		"no hash":                         {"", []component.Resource{one, two}, liveOf(cached("one", "1", 1), cached("two", "1", 2)), 0},
		"another hash":                    {"other", []component.Resource{one, two}, liveOf(cached("one", "1", 1), cached("two", "1", 2)), 0},
		"one was edited":                  {sum, []component.Resource{one, two}, liveOf(cached("one", "1", 1), cached("two", "1", 3)), 0},
		"one was written from another":    {sum, []component.Resource{one, two}, liveOf(cached("one", "1", 1), cached("two", "2", 2)), 0},
		"one is gone":                     {sum, []component.Resource{one, two}, liveOf(cached("one", "1", 1)), 0},
		"nothing was applied of another":  {sum, []component.Resource{one, two, hashed("three", "1")}, liveOf(cached("one", "1", 1), cached("two", "1", 2), cached("three", "1", 0)), 0},
		"no hash, and nothing to be seen": {"", nil, component.Live{}, 0},
	} {
		a, known := slimApplier(), 0
		a.Recall(tt.sum, tt.intents, tt.live)
		for _, intent := range tt.intents {
			if a.isMatched(Request{Intent: intent, Live: tt.live[component.KeyOf(intent)]}) {
				known++
			}
		}
		if known != tt.want {
			t.Errorf("%s: %d objects need no write, want %d", name, known, tt.want)
		}
	}
}

// TestRecallOnce checks that what this process knows of an object is not replaced by what another one has left.
func TestRecallOnce(t *testing.T) {
	t.Parallel()
	a, intent := slimApplier(), hashed("one", "1")
	a.putMatch(component.KeyOf(intent), a.matchOf(cached("one", "1", 1), intent))
	sum := a.AppliedHash([]component.Resource{intent}, component.Live{})
	edited := cached("one", "1", 2)
	other := slimApplier()
	other.putMatch(component.KeyOf(intent), other.matchOf(edited, intent))
	a.Recall(other.AppliedHash([]component.Resource{intent}, component.Live{}), []component.Resource{intent}, liveOf(edited))
	if got := a.AppliedHash([]component.Resource{intent}, liveOf(edited)); got != sum {
		t.Errorf("the applied hash is %q, want that of what was written, %q", got, sum)
	}
}
