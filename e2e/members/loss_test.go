package members_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/members"
)

// definitionName is the definition that the hub installs on members.
const definitionName = "ecommerceapps." + v1.GroupName

func definition() *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: definitionName},
	}
}

// uidOf returns the UID of the definition, or an error if there is none.
func uidOf(ctx context.Context, c client.Client) (types.UID, error) {
	d := definition()
	err := c.Get(ctx, client.ObjectKeyFromObject(d), d)
	return d.UID, err
}

// testDefinition deletes the kind that the hub works with.
func (s *suite) testDefinition(t *testing.T) {
	s.awaitGone(t)
	eu := s.Member("eu-1")
	admin := framework.Admin(t, eu)
	s.register(t, "eu-1", s.kubeconfig(t, eu))
	s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	before, err := uidOf(t.Context(), admin)
	if err != nil {
		t.Fatal(err)
	}
	m := framework.Mark(t, s.Fleet)
	framework.DeleteDefinition(t, admin, definition())
	lost, took := s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionFalse, v1.ReasonSetupFailed)
	t.Logf("noticed after %s", took)
	if got := message(lost, v1.ConditionReady); !strings.Contains(got, definitionName) {
		t.Errorf("message %q does not name the definition", got)
	}
	s.await(t, "eu-1", v1.ConditionConnected, metav1.ConditionTrue, "")
	_, took = s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, v1.ReasonConnected)
	t.Logf("Ready again after another %s", took)
	if after, err := uidOf(t.Context(), admin); err != nil || after == before {
		t.Errorf("the definition is %q, was %q: %v", after, before, err)
	}
	writes := m.By(t, eu, config.HubServiceAccount).Writes()
	// An API server without processor time does not answer in time, and is asked again.
	if answered := writes.Where(func(e audit.Event) bool { return e.Code != http.StatusGatewayTimeout }); len(answered) != 1 || len(answered.Of("customresourcedefinitions").Succeeded()) != 1 {
		t.Errorf("want one write, of the definition:\n%s", writes)
	}
	s.awaitCachedApp(t, admin, "after")
	// Another connection looks at the definition again, and has nothing to do.
	m = framework.Mark(t, s.Fleet)
	s.swap(t)
	if writes := m.By(t, eu, config.HubServiceAccount).Writes(); len(writes) > 0 {
		t.Errorf("the definition is there, and the hub wrote:\n%s", writes)
	}
}

// awaitCachedApp makes an application on the member eu-1 and waits until the hub's cache of
// the member has it.
func (s *suite) awaitCachedApp(t *testing.T, admin client.Client, name string) {
	t.Helper()
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: apitest.Seed().Spec}
	if err := admin.Create(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := admin.Delete(context.WithoutCancel(t.Context()), app); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	fleettest.Eventually(t, "the hub's cache to see an application", func(ctx context.Context) error {
		c, err := s.process.fleet.Get(ctx, "eu-1")
		if err != nil {
			return err
		}
		return c.GetClient().Get(ctx, client.ObjectKeyFromObject(app), &v1.EcommerceApp{})
	})
}

// swap gives the member eu-1 another kubeconfig of the same account, and waits until the hub
// uses it.
func (s *suite) swap(t *testing.T) {
	t.Helper()
	const name = "eu-1"
	engaged := s.process.engaged.times(name)
	s.register(t, name, s.kubeconfig(t, s.Member(name)))
	fleettest.Eventually(t, "the new kubeconfig to be swapped in", func(context.Context) error {
		if n := s.process.engaged.times(name); n != engaged+1 {
			return fmt.Errorf("engaged %d times, want %d", n, engaged+1)
		}
		return nil
	})
}

// testDefinitionHeld deletes the kind while an object of it cannot go yet.
func (s *suite) testDefinitionHeld(t *testing.T) {
	s.awaitGone(t)
	eu := s.Member("eu-1")
	admin := framework.Admin(t, eu)
	s.register(t, "eu-1", s.kubeconfig(t, eu))
	s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	held := &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "held", Finalizers: []string{v1.SpokeFinalizer}},
		Spec:       apitest.Seed().Spec,
	}
	if err := admin.Create(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	before, err := uidOf(t.Context(), admin)
	if err != nil {
		t.Fatal(err)
	}
	m := framework.Mark(t, s.Fleet)
	framework.DeleteDefinition(t, admin, definition())
	// A connection that is made now does not write, works, and says what is going on.
	s.swap(t)
	lost, _ := s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionFalse, v1.ReasonSetupFailed)
	if got, want := message(lost, v1.ConditionReady), "the CustomResourceDefinition "+definitionName+" is being deleted"; !strings.HasPrefix(got, want) {
		t.Errorf("message %q, want %q", got, want)
	}
	fleettest.Eventually(t, "the object to be told to go", func(ctx context.Context) error {
		c, err := s.process.fleet.Get(ctx, "eu-1")
		if err != nil {
			return err
		}
		live := &v1.EcommerceApp{}
		if err := c.GetClient().Get(ctx, client.ObjectKeyFromObject(held), live); err != nil {
			return err
		}
		if live.DeletionTimestamp == nil {
			return errors.New("not deleted")
		}
		return nil
	})
	if writes := m.By(t, eu, config.HubServiceAccount).Writes(); len(writes) > 0 {
		t.Errorf("the hub wrote about a definition that is being deleted:\n%s", writes)
	}
	if err := admin.Patch(t.Context(), held, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	fleettest.Eventually(t, "another definition", func(ctx context.Context) error {
		after, err := uidOf(ctx, admin)
		if err == nil && after == before {
			err = errors.New("the old one is still there")
		}
		return err
	})
	s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, v1.ReasonConnected)
	t.Logf("Ready again %s after the last object could go", time.Since(begun))
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(held), held); !apierrors.IsNotFound(err) {
		t.Errorf("the object came back: %v", err)
	}
}

// testDefinitionChanged compares definitions with a cluster whose definition is not as the hub wrote it.
func (s *suite) testDefinitionChanged(t *testing.T) {
	s.awaitGone(t)
	admin := framework.Admin(t, s.Member("us-1"))
	given, err := config.Definition(v1.GroupName, "ecommerceapps")
	if err != nil {
		t.Fatal(err)
	}
	definitions := members.InstallDefinitions(given)
	if facts, err := definitions.Install(t.Context(), admin); err != nil || len(facts.Absent)+len(facts.Deleting) > 0 {
		t.Fatalf("installed: %+v, %v", facts, err)
	}
	live := func() (version, hash string) {
		t.Helper()
		d := definition()
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
			t.Fatal(err)
		}
		return d.ResourceVersion, d.Annotations[v1.SpecHashAnnotation]
	}
	_, hash := live()
	if hash == "" {
		t.Fatal("the definition was installed without its hash")
	}
	other := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+v1.SpecHashAnnotation+`":"other"}}}`))
	if err := admin.Patch(t.Context(), definition(), other); err != nil {
		t.Fatal(err)
	}
	check := func() (version, hash string) {
		t.Helper()
		if facts, err := definitions.Check(t.Context(), admin); err != nil || len(facts.Absent)+len(facts.Deleting) > 0 {
			t.Fatalf("checked: %+v, %v", facts, err)
		}
		return live()
	}
	first, mended := check()
	if mended != hash {
		t.Errorf("hash %q, want %q: the definition was not brought up to date", mended, hash)
	}
	if second, _ := check(); second != first {
		t.Errorf("version %s, was %s: nothing differed, and it was written", second, first)
	}
	const field = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/added"
	patch := func(operations string) {
		t.Helper()
		if err := admin.Patch(t.Context(), definition(), client.RawPatch(types.JSONPatchType, []byte(operations))); err != nil {
			t.Fatal(err)
		}
	}
	const ofAnother = `{"op": "replace", "path": "/metadata/annotations/ecommerce.io~1spec-hash", "value": "other"}`
	patch(`[{"op": "add", "path": "` + field + `", "value": {"type": "string"}}, ` + ofAnother + `]`)
	newer, _ := live()
	if after, _ := check(); after != newer {
		t.Error("a definition of a newer hub was overwritten")
	}
	patch(`[{"op": "remove", "path": "` + field + `"}]`)
	if _, mended := check(); mended != hash {
		t.Errorf("hash %q, want %q: the definition was not brought up to date", mended, hash)
	}
}

// testKilled ends a member as a power cut would, and starts it again.
func (s *suite) testKilled(t *testing.T) {
	s.awaitGone(t)
	eu := s.Member("eu-1")
	s.registerProbed(t, "eu-1")
	before, _ := s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	if err := eu.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := eu.Restart(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	lost, took := s.await(t, "eu-1", v1.ConditionConnected, metav1.ConditionFalse, v1.ReasonProbeFailed)
	t.Logf("lost after %s", took)
	if took > lossBound {
		t.Errorf("lost after %s, more than %s", took, lossBound)
	}
	if got, want := message(lost, v1.ConditionReady), "the cluster refuses connections"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	if s.process.engaged.has("eu-1") {
		t.Error("the hub goes on with a member that is gone")
	}
	if err := eu.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	m := framework.Mark(t, s.Fleet)
	back, took := s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, v1.ReasonConnected)
	t.Logf("Ready %s after the restart", took)
	if back.Status.ClusterUID != before.Status.ClusterUID || back.Status.Nodes != before.Status.Nodes {
		t.Errorf("status %+v, was %+v", back.Status, before.Status)
	}
	if writes := m.By(t, eu, config.HubServiceAccount).Writes(); len(writes) > 0 {
		t.Errorf("a restart changes nothing on a member, and the hub wrote:\n%s", writes)
	}
}
