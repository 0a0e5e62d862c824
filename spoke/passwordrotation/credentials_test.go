package passwordrotation

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

func source(username, password, name string) map[string][]byte {
	return map[string][]byte{"username": []byte(username), "password": []byte(password), "database": []byte(name)}
}

func login(username, password string, rotation int, phase database.Phase) *database.Login {
	return &database.Login{Owner: "shop", Username: username, Password: password, Database: "orders", Rotation: rotation, Phase: phase}
}

const (
	settled   = database.PhaseSettled
	setting   = database.PhaseSetting
	changing  = database.PhaseChanging
	switching = database.PhaseSwitching
)

// state returns the state of a database that serves, whose credentials Secret has a password.
func state(engine v1.Engine, password string, login *database.Login, change ...func(*State)) State {
	s := State{Engine: engine, Source: source("shop", password, "orders"), Login: login, Data: true, Started: true, Serves: true}
	for _, f := range change {
		f(&s)
	}
	return s
}

func change(how database.Change, username, password, current string) *database.ChangeLogin {
	return &database.ChangeLogin{Change: how, Owner: "shop", Username: username, Password: password, Current: current}
}

func TestNext(t *testing.T) {
	current := func(s *State) { s.Clients = Clients{Exist: true, Current: true} }
	stuck := func(s *State) { s.Clients = Clients{Exist: true, Stuck: true} }
	rolledOut := func(s *State) { s.Clients = Clients{Exist: true, Rotation: 3} }
	atOnce := func(s *State) { s.AtOnce = true }
	noData := func(s *State) { s.Data, s.Started, s.Serves = false, false, false }
	down := func(s *State) { s.Serves = false }
	notStarted := func(s *State) { s.Started, s.Serves = false, false }
	pg, my := v1.EnginePostgreSQL, v1.EngineMySQL
	const keep, discard, only = database.Keep, database.Discard, database.Only
	for name, tt := range map[string]struct {
		state State
		want  Step
	}{
		"first login":    {state(pg, "a", nil, noData), Step{Write: login("shop", "a", 0, settled)}},
		"before data":    {state(pg, "a", login("shop", "a", 0, settled), noData), Step{}},
		"unchanged":      {state(pg, "a", login("shop", "a", 0, settled)), Step{}},
		"changed before": {state(pg, "b", login("shop", "a", 0, settled), noData), Step{Write: login("shop", "b", 1, settled)}},

		"another password":      {state(pg, "b", login("shop", "a", 0, settled)), Step{Write: login("shop", "a", 0, changing)}},
		"noted":                 {state(pg, "b", login("shop", "a", 0, changing)), Step{Change: change(keep, "shop_2", "b", "a"), Write: login("shop_2", "b", 1, switching)}},
		"noted, and down":       {state(pg, "b", login("shop", "a", 0, changing), down), Step{Waiting: true}},
		"noted, changed again":  {state(pg, "c", login("shop", "a", 0, changing)), Step{Change: change(keep, "shop_2", "c", "a"), Write: login("shop_2", "c", 1, switching)}},
		"noted, and taken back": {state(pg, "a", login("shop", "a", 0, changing)), Step{Change: change(only, "shop_2", "a", ""), Write: login("shop", "a", 0, settled)}},
		"back to the owner":     {state(pg, "c", login("shop_2", "b", 1, changing)), Step{Change: change(keep, "shop", "c", "b"), Write: login("shop", "c", 2, switching)}},

		"clients switch":                {state(pg, "b", login("shop_2", "b", 1, switching)), Step{Waiting: true}},
		"changed while clients switch":  {state(pg, "c", login("shop_2", "b", 1, switching)), Step{Waiting: true}},
		"clients do not start":          {state(pg, "b", login("shop_2", "b", 1, switching), stuck), Step{Waiting: true}},
		"clients do not start, changed": {state(pg, "c", login("shop_2", "b", 1, switching), stuck), Step{Write: login("shop_2", "c", 1, setting)}},
		"clients have switched":         {state(pg, "b", login("shop_2", "b", 1, switching), current), Step{Change: change(discard, "shop", "b", ""), Write: login("shop_2", "b", 1, settled)}},
		"one rotation at a time":        {state(pg, "c", login("shop_2", "b", 1, switching), current), Step{Change: change(discard, "shop", "b", ""), Write: login("shop_2", "b", 1, settled)}},

		"lost":               {state(pg, "b", nil, rolledOut), Step{Write: login("shop", "b", 3, setting)}},
		"lost, and down":     {state(pg, "b", login("shop", "b", 3, setting), down), Step{Waiting: true}},
		"lost, not started":  {state(pg, "b", nil, rolledOut, notStarted), Step{Write: login("shop", "b", 4, settled)}},
		"of a backup":        {state(pg, "b", nil, notStarted), Step{Write: login("shop", "b", 0, settled)}},
		"set again":          {state(pg, "b", login("shop", "b", 3, setting)), Step{Change: change(keep, "shop", "b", ""), Write: login("shop", "b", 4, switching)}},
		"lost with the data": {state(pg, "b", nil, noData, rolledOut), Step{Write: login("shop", "b", 4, settled)}},
		"of a deleted database": {
			state(pg, "b", &database.Login{Owner: "other", Username: "other_2", Password: "z", Database: "sales", Rotation: 2, Phase: switching}, noData),
			Step{Write: login("shop", "b", 3, settled)},
		},

		"mysql":            {state(my, "b", login("shop", "a", 0, changing)), Step{Change: change(keep, "shop", "b", "a"), Write: login("shop", "b", 1, switching)}},
		"mysql revokes":    {state(my, "b", login("shop", "b", 1, switching), current), Step{Change: change(discard, "shop", "b", ""), Write: login("shop", "b", 1, settled)}},
		"at once":          {state(my, "b", login("shop", "a", 0, settled), atOnce), Step{Write: login("shop", "a", 0, changing)}},
		"at once, noted":   {state(my, "b", login("shop", "a", 0, changing), atOnce), Step{Change: change(only, "shop", "b", "a"), Write: login("shop", "b", 1, settled)}},
		"at once, changed": {state(my, "a", login("shop", "a", 0, changing), atOnce), Step{Change: change(only, "shop", "a", ""), Write: login("shop", "a", 0, settled)}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Next(tt.state)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestNextIsRepeated checks that a process that ends between a change in the database and the write of
// the login is continued by the next one, whatever the password is then: no other password than the
// wanted one stays valid, and clients are never without one.
func TestNextIsRepeated(t *testing.T) {
	for _, then := range []string{"a", "b", "c"} {
		valid := map[string]string{"shop": "a", "shop_2": "a"}
		interrupted := state(v1.EnginePostgreSQL, "b", login("shop", "a", 0, changing))
		step, err := Next(interrupted)
		if err != nil {
			t.Fatal(err)
		}
		valid[step.Change.Username] = step.Change.Password
		s := state(v1.EnginePostgreSQL, then, interrupted.Login, func(s *State) { s.Clients.Current = true })
		for step, err = Next(s); step != (Step{}); step, err = Next(s) {
			if err != nil || step.Waiting {
				t.Fatalf("%+v, %v", step, err)
			}
			if step.Change != nil {
				valid[step.Change.Username] = step.Change.Password
			}
			s.Login = step.Write
			if valid[s.Login.Username] != s.Login.Password {
				t.Errorf("then %s: clients have %+v, valid are %v", then, s.Login, valid)
			}
		}
		if want := map[string]string{"shop": then, "shop_2": then}; !cmp.Equal(want, valid) {
			t.Errorf("then %s: valid are %v", then, valid)
		}
	}
}

func TestNextFails(t *testing.T) {
	for name, tt := range map[string]struct {
		source map[string][]byte
		engine v1.Engine
		want   error
		text   string
	}{
		"no Secret":        {nil, v1.EnginePostgreSQL, ErrMissing, "create Secret ours with the keys username, password and database"},
		"no password":      {source("shop", "", "orders"), v1.EnginePostgreSQL, ErrMissing, "Secret ours has no password"},
		"line break":       {source("shop", "secret\n", "orders"), v1.EnginePostgreSQL, ErrInvalid, "password of Secret ours contains a line break"},
		"another user":     {source("other", "secret", "orders"), v1.EnginePostgreSQL, ErrInvalid, `the data belongs to "shop"`},
		"another database": {source("shop", "secret", "sales"), v1.EnginePostgreSQL, ErrInvalid, `the data is in "orders"`},
		"postgres":         {source("postgres", "secret", "orders"), v1.EnginePostgreSQL, ErrInvalid, "choose another name"},
		"root":             {source("root", "secret", "orders"), v1.EngineMySQL, ErrInvalid, "choose another name"},
	} {
		t.Run(name, func(t *testing.T) {
			step, err := Next(State{Engine: tt.engine, Secret: "ours", Source: tt.source, Login: login("shop", "a", 0, settled), Data: true})
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) || strings.Contains(err.Error(), "secret\n") {
				t.Errorf("error %v, want %q", err, tt.text)
			}
			if step != (Step{}) {
				t.Errorf("there is a step: %+v", step)
			}
		})
	}
}

// TestRead reads what LoginSecret writes.
func TestRead(t *testing.T) {
	want := login("shop_2", "b", 3, switching)
	secret, err := database.Spec{Engine: v1.EnginePostgreSQL, Version: "15", Storage: quantity()}.LoginSecret(*want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, Read(secret)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	delete(secret.Data, "password")
	if got := Read(secret); got != nil {
		t.Errorf("a login without a password: %+v", got)
	}
	if got := Read(nil); got != nil {
		t.Errorf("a login without a Secret: %+v", got)
	}
}

// clientsOf returns a Deployment whose pods all have the first rotation, as it is changed.
func clientsOf(change func(*appsv1.Deployment)) appsv1.Deployment {
	d := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	d.Spec.Template.Annotations = map[string]string{database.RotationAnnotation: "1"}
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, Conditions: []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
	}}
	change(&d)
	return d
}

// TestVersionsOfClients checks what Deployments say while one replaces another.
func TestVersionsOfClients(t *testing.T) {
	before := func(d *appsv1.Deployment) { d.Spec.Template.Annotations = nil }
	now := func(*appsv1.Deployment) {}
	for name, tt := range map[string]struct {
		deployments []appsv1.Deployment
		want        Clients
	}{
		"none":                       {nil, Clients{Current: true}},
		"one of each version":        {[]appsv1.Deployment{clientsOf(now), clientsOf(before)}, Clients{Exist: true, Rotation: 1}},
		"in another order":           {[]appsv1.Deployment{clientsOf(before), clientsOf(now)}, Clients{Exist: true, Rotation: 1}},
		"two versions, both have it": {[]appsv1.Deployment{clientsOf(now), clientsOf(now)}, Clients{Exist: true, Rotation: 1, Current: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, OfDeployments(tt.deployments, 1)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRotationWaits checks when clients count as replaced: not before the last pod of before has ended.
func TestRotationWaits(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*appsv1.Deployment)
		want   Clients
	}{
		"all pods have it": {func(*appsv1.Deployment) {}, Clients{Exist: true, Rotation: 1, Current: true}},
		"another rotation": {func(d *appsv1.Deployment) { d.Spec.Template.Annotations[database.RotationAnnotation] = "0" }, Clients{Exist: true}},
		"the first login":  {func(d *appsv1.Deployment) { d.Spec.Template.Annotations = nil }, Clients{Exist: true}},
		"not observed":     {func(d *appsv1.Deployment) { d.Generation = 3 }, Clients{Exist: true, Rotation: 1}},
		"old pods":         {func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 }, Clients{Exist: true, Rotation: 1}},
		"new pods start":   {func(d *appsv1.Deployment) { d.Status.Conditions[0].Reason = "ReplicaSetUpdated" }, Clients{Exist: true, Rotation: 1}},
		"new pods do not start": {func(d *appsv1.Deployment) {
			d.Status.Conditions[0].Reason, d.Status.Conditions[0].Status = "ProgressDeadlineExceeded", corev1.ConditionFalse
		}, Clients{Exist: true, Rotation: 1, Stuck: true}},
		"no pods": {func(d *appsv1.Deployment) { d.Status = appsv1.DeploymentStatus{ObservedGeneration: 2} }, Clients{Exist: true, Rotation: 1, Current: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, OfDeployments([]appsv1.Deployment{clientsOf(tt.change)}, 1)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for name, tt := range map[string]struct {
		annotation string
		phase      corev1.PodPhase
		want       bool
	}{
		"current":          {"1", corev1.PodRunning, true},
		"of before":        {"", corev1.PodRunning, false},
		"of before, ended": {"", corev1.PodSucceeded, true},
	} {
		pod := &corev1.Pod{Status: corev1.PodStatus{Phase: tt.phase}}
		pod.Annotations = map[string]string{database.RotationAnnotation: tt.annotation}
		if got := Has(pod, 1); got != tt.want {
			t.Errorf("a pod that is %s: %v, want %v", name, got, tt.want)
		}
	}
}

func quantity() resource.Quantity { return resource.MustParse("1Gi") }
