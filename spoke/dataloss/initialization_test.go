package dataloss_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/dataloss"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

// created and fresh return the marks of a database that was created, and of one that was not yet.
func created() *database.Mark { return &database.Mark{Created: true} }
func fresh() *database.Mark   { return &database.Mark{} }

func bound() *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		Spec:   corev1.PersistentVolumeClaimSpec{VolumeName: "pv"},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
	}
}

func unbound() *corev1.PersistentVolumeClaim { return &corev1.PersistentVolumeClaim{} }

func broken() *corev1.PersistentVolumeClaim {
	claim := bound()
	claim.Status.Phase = corev1.ClaimLost
	return claim
}

func fromSnapshot() *corev1.PersistentVolumeClaim {
	claim := unbound()
	claim.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "VolumeSnapshot", Name: "s"}
	return claim
}

// ready returns a pod that serves, ended one whose init container ended with a code.
func ready() *corev1.Pod {
	return &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}
}

func ended(code int32) *corev1.Pod {
	return &corev1.Pod{Status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{
		Name:                 component.PrepareContainer,
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}},
	}}}}
}

func deleted(pod *corev1.Pod) *corev1.Pod {
	pod.DeletionTimestamp = &metav1.Time{}
	return pod
}

// transition holds a state and what follows from it.
type transition struct {
	state state
	want  database.Mark
	lost  bool
}

type state = dataloss.State

// losses returns how data is lost, and found again.
func losses() map[string]transition {
	return map[string]transition{
		"a new database":                          {state{}, *fresh(), false},
		"a new database gets its volume":          {state{Mark: fresh(), Claim: bound()}, *fresh(), false},
		"a new database is ready":                 {state{Mark: fresh(), Claim: bound(), Pod: ready()}, *created(), false},
		"the first pass, with a bound claim":      {state{Claim: bound()}, *created(), false},
		"the first pass, before it is bound":      {state{Claim: unbound()}, *fresh(), false},
		"the first pass, with a claim that broke": {state{Claim: broken()}, *created(), true},
		"the first pass, with a ready primary":    {state{Pod: ready()}, *created(), false},

		"created again with its claim":    {state{Mark: created(), Claim: bound()}, *created(), false},
		"created again without its claim": {state{Mark: created()}, *created(), true},
		"the mark is lost with the claim": {state{Known: true}, *created(), true},
		"the mark is lost alone":          {state{Known: true, Claim: bound(), Pod: ready()}, *created(), false},
		"the hub knows more":              {state{Mark: fresh(), Known: true}, *created(), true},

		"the new claim has no volume":         {state{Mark: created(), Claim: unbound()}, *created(), true},
		"the claim gets data of a snapshot":   {state{Mark: created(), Claim: fromSnapshot()}, *created(), false},
		"the script refuses":                  {state{Mark: created(), Claim: bound(), Pod: ended(database.ExitLost)}, *created(), true},
		"the script refused before":           {state{Mark: created(), Claim: bound(), Pod: deleted(ended(database.ExitLost))}, *created(), false},
		"the script failed for other reasons": {state{Mark: created(), Claim: bound(), Pod: ended(1)}, *created(), false},
		"nothing is known since":              {state{Mark: created(), Claim: bound(), WasLost: true}, *created(), true},
		"the script found data":               {state{Mark: created(), Claim: bound(), WasLost: true, Pod: ended(0)}, *created(), false},
		"a claim that is in use and gone":     {state{Mark: created(), Pod: ready()}, *created(), false},
		"a restore begins":                    {state{Mark: created(), WasLost: true, Restoring: true}, *created(), true},
		"a restore replaces good data":        {state{Mark: created(), Restoring: true}, *created(), false},
	}
}

// tokens returns what the token of a user changes.
func tokens() map[string]transition {
	return map[string]transition{
		"a token consents once": {
			state{Mark: created(), WasLost: true, StartEmpty: "a"},
			database.Mark{Consent: database.ConsentStartEmpty, StartEmpty: "a"}, false,
		},
		"and is remembered": {
			state{Mark: &database.Mark{Consent: database.ConsentStartEmpty, StartEmpty: "a"}, Known: true, StartEmpty: "a"},
			database.Mark{Consent: database.ConsentStartEmpty, StartEmpty: "a"}, false,
		},
		"until the database is ready": {
			state{Mark: &database.Mark{Consent: database.ConsentStartEmpty, StartEmpty: "a"}, StartEmpty: "a", Pod: ready()},
			database.Mark{Created: true, StartEmpty: "a"}, false,
		},
		"and not twice": {
			state{Mark: &database.Mark{Created: true, StartEmpty: "a"}, StartEmpty: "a"},
			database.Mark{Created: true, StartEmpty: "a"}, true,
		},
		"a token of before the loss": {
			state{Mark: created(), Claim: bound(), Pod: ready(), StartEmpty: "a"},
			database.Mark{Created: true, StartEmpty: "a"}, false,
		},
		"a token where there was no mark": {state{Known: true, StartEmpty: "a"}, database.Mark{Created: true, StartEmpty: "a"}, true},
		"a token during a restore": {
			state{Mark: created(), WasLost: true, Restoring: true, StartEmpty: "a"}, database.Mark{Created: true, StartEmpty: "a"}, true,
		},
	}
}

// loads returns what a load of a dump changes.
func loads() map[string]transition {
	return map[string]transition{
		"a load consents once": {
			state{Mark: created(), WasLost: true, Loading: "r", Stopped: true, Known: true},
			database.Mark{Consent: database.ConsentLoad, Load: "r"}, true,
		},
		"a load while the backend runs": {state{Mark: created(), WasLost: true, Loading: "r"}, *created(), true},
		"the database is ready to be loaded": {
			state{Mark: &database.Mark{Consent: database.ConsentLoad, Load: "r"}, Loading: "r", Stopped: true, Pod: ready()},
			database.Mark{Created: true, Consent: database.ConsentLoad, Load: "r"}, true,
		},
		"its volume is lost again": {
			state{Mark: &database.Mark{Created: true, Consent: database.ConsentLoad, Load: "r"}, Loading: "r", Stopped: true},
			database.Mark{Created: true, Consent: database.ConsentLoad, Load: "r"}, true,
		},
		"the load failed": {
			state{Mark: &database.Mark{Created: true, Consent: database.ConsentLoad, Load: "r"}, Pod: ready()},
			database.Mark{Created: true, Consent: database.ConsentLoad, Load: "r"}, true,
		},
		"another load into the same database": {
			state{Mark: &database.Mark{Created: true, Consent: database.ConsentLoad, Load: "r"}, Loading: "s", Stopped: true, Pod: ready()},
			database.Mark{Created: true, Consent: database.ConsentLoad, Load: "s"}, true,
		},
		"the load succeeded": {
			state{Mark: &database.Mark{Created: true, Consent: database.ConsentLoad, Load: "r"}, Loaded: true, Pod: ready()},
			*created(), false,
		},
		"a token after a load that failed": {
			state{Mark: &database.Mark{Created: true, Consent: database.ConsentLoad, Load: "r"}, StartEmpty: "a", Pod: ready()},
			database.Mark{Created: true, StartEmpty: "a"}, false,
		},
		"a load into a database that works": {state{Mark: created(), Claim: bound(), Pod: ready(), Loading: "r", Stopped: true}, *created(), false},
	}
}

// TestNext covers each way into and out of the loss of a database's data.
func TestNext(t *testing.T) {
	all := losses()
	maps.Copy(all, tokens())
	maps.Copy(all, loads())
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			mark, lost := dataloss.Next(c.state)
			if diff := cmp.Diff(c.want, mark); diff != "" || lost != c.lost {
				t.Errorf("lost = %t, want %t; mark (-want +got):\n%s", lost, c.lost, diff)
			}
		})
	}
}

// TestNothingElseInitializes checks that only a consent, and one of each kind, lets a created database initialize,
// whatever is observed.
func TestNothingElseInitializes(t *testing.T) {
	for _, s := range observations() {
		s.Mark = &database.Mark{Created: true, StartEmpty: "a", Load: "r"}
		if mark, _ := dataloss.Next(s); !mark.Created {
			t.Errorf("%+v may be initialized", s)
		}
		s.Mark, s.Known = nil, true
		if mark, _ := dataloss.Next(s); !mark.Created && mark.Consent == "" {
			t.Errorf("%+v may be initialized without its mark", s)
		}
	}
}

// observations returns all that can be seen of a database whose consents have been given.
func observations() []state {
	all := []state{{StartEmpty: "a", Loading: "r", Stopped: true}}
	vary := func(changes ...func(*state)) {
		var next []state
		for _, s := range all {
			for _, change := range changes {
				changed := s
				change(&changed)
				next = append(next, changed)
			}
		}
		all = next
	}
	same := func(*state) {}
	for _, claim := range []*corev1.PersistentVolumeClaim{unbound(), bound(), broken(), fromSnapshot()} {
		all = append(all, state{StartEmpty: "a", Loading: "r", Stopped: true, Claim: claim})
	}
	var pods []func(*state)
	for _, pod := range []*corev1.Pod{nil, ready(), ended(0), ended(1), ended(database.ExitLost), deleted(ready())} {
		pods = append(pods, func(s *state) { s.Pod = pod })
	}
	vary(pods...)
	vary(same, func(s *state) { s.WasLost = true })
	vary(same, func(s *state) { s.Restoring = true })
	vary(same, func(s *state) { s.Loaded = true })
	return all
}
