package credentials

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

func source(username, password, name string) map[string][]byte {
	return map[string][]byte{"username": []byte(username), "password": []byte(password), "database": []byte(name)}
}

func login(username, password string, rotation int, switching bool) *database.Login {
	return &database.Login{Owner: "shop", Username: username, Password: password, Database: "orders", Rotation: rotation, Switching: switching}
}

func TestNext(t *testing.T) {
	change := func(username, password string) *database.ChangeLogin {
		return &database.ChangeLogin{Owner: "shop", Username: username, Password: password, Keep: true}
	}
	revoke := func(username, password string) *database.ChangeLogin {
		return &database.ChangeLogin{Owner: "shop", Username: username, Password: password, Discard: true}
	}
	pg, my := v1.EnginePostgreSQL, v1.EngineMySQL
	for name, tt := range map[string]struct {
		state State
		want  Step
	}{
		"first login":             {State{Engine: pg, Source: source("shop", "a", "orders")}, Step{Write: login("shop", "a", 0, false)}},
		"unchanged":               {State{Engine: pg, Source: source("shop", "a", "orders"), Login: login("shop", "a", 0, false)}, Step{}},
		"another password":        {State{Engine: pg, Source: source("shop", "b", "orders"), Login: login("shop", "a", 0, false)}, Step{Change: change("shop_2", "b"), Write: login("shop_2", "b", 1, true)}},
		"back to the owner":       {State{Engine: pg, Source: source("shop", "c", "orders"), Login: login("shop_2", "b", 1, false)}, Step{Change: change("shop", "c"), Write: login("shop", "c", 2, true)}},
		"clients switch":          {State{Engine: pg, Source: source("shop", "b", "orders"), Login: login("shop_2", "b", 1, true)}, Step{Waiting: true}},
		"clients have switched":   {State{Engine: pg, Source: source("shop", "b", "orders"), Login: login("shop_2", "b", 1, true), ClientsCurrent: true}, Step{Change: revoke("shop", "b"), Write: login("shop_2", "b", 1, false)}},
		"changed again meanwhile": {State{Engine: pg, Source: source("shop", "c", "orders"), Login: login("shop_2", "b", 1, true)}, Step{Waiting: true}},
		"one rotation at a time":  {State{Engine: pg, Source: source("shop", "c", "orders"), Login: login("shop_2", "b", 1, true), ClientsCurrent: true}, Step{Change: revoke("shop", "b"), Write: login("shop_2", "b", 1, false)}},
		"mysql":                   {State{Engine: my, Source: source("shop", "b", "orders"), Login: login("shop", "a", 0, false)}, Step{Change: change("shop", "b"), Write: login("shop", "b", 1, true)}},
		"mysql revokes":           {State{Engine: my, Source: source("shop", "b", "orders"), Login: login("shop", "b", 1, true), ClientsCurrent: true}, Step{Change: revoke("shop", "b"), Write: login("shop", "b", 1, false)}},
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
			step, err := Next(State{Engine: tt.engine, Secret: "ours", Source: tt.source, Login: login("shop", "a", 0, false)})
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
	want := login("shop_2", "b", 3, true)
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

func TestRolledOut(t *testing.T) {
	at := metav1.NewTime(time.Unix(1000, 0))
	deployment := func(change func(*appsv1.Deployment)) *appsv1.Deployment {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
		d.Spec.Template.Annotations = map[string]string{database.RotationAnnotation: "1"}
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentProgressing, Reason: "NewReplicaSetAvailable", LastUpdateTime: at},
		}}
		change(d)
		return d
	}
	for name, tt := range map[string]struct {
		change func(*appsv1.Deployment)
		want   bool
	}{
		"all pods have it":        {func(*appsv1.Deployment) {}, true},
		"another rotation":        {func(d *appsv1.Deployment) { d.Spec.Template.Annotations[database.RotationAnnotation] = "0" }, false},
		"not observed":            {func(d *appsv1.Deployment) { d.Generation = 3 }, false},
		"old pods":                {func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 }, false},
		"new pods do not start":   {func(d *appsv1.Deployment) { d.Status.Conditions[0].Reason = "ReplicaSetUpdated" }, false},
		"no pods, and none asked": {func(d *appsv1.Deployment) { d.Status = appsv1.DeploymentStatus{ObservedGeneration: 2} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			if _, got := RolledOut(deployment(tt.change), 1); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
	if since, _ := RolledOut(deployment(func(*appsv1.Deployment) {}), 1); !since.Equal(at.Time) {
		t.Errorf("since %s, want %s", since, at)
	}
}

func quantity() resource.Quantity { return resource.MustParse("1Gi") }
