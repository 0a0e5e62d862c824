package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config/samples"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/setup"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

const (
	// admission is the folder with the policies of the hub.
	admission = "config/admission/hub"
	changes   = framework.Found
	eu        = "eu-west-1"
	us        = "us-central1"
)

func TestMain(m *testing.M) {
	framework.Silence()
	os.Exit(m.Run())
}

// suite is a fleet with a running hub and the sample's shop.
type suite struct {
	*framework.Environment
	shop *v1.EcommerceApp
}

func TestPlan(t *testing.T) {
	s := &suite{shop: apitest.Seed(), Environment: framework.New(t, framework.Options{
		Fleet: fleet.Options{Hub: fleet.ClusterSpec{Name: "hub"}, Members: []fleet.ClusterSpec{
			{Name: "eu-1", Provider: fleet.AWS, Region: eu, Nodes: 1}, {Name: "us-1", Provider: fleet.GCP, Region: us, Nodes: 1},
		}},
		Health: framework.Health(),
		Hub: func(o *setup.Options) {
			o.Waits, o.Timeouts = retry.Waits{Scale: 0.1, Longest: 20 * time.Second}, framework.Timeouts()
		},
	})}
	s.StartHub(t)
	s.Register(t, "eu-1", "us-1")
	s.AwaitMembers(t, "eu-1", "us-1")
	framework.CreateNamespace(t, s.Hub, s.shop.Namespace)

	const installed, created = "the policy rejects a forged requester", "a new application"
	var steps framework.Steps
	steps.Add("without the policy the hub refuses", s.testNoPolicy)
	steps.Add(installed, s.testForged)
	steps.Add("a requester without permissions is refused", s.testForbidden, installed)
	steps.Add("what the hub's schema rejects", s.testInvalid, installed)
	steps.Add(created, s.testNew, installed)
	steps.Add("nothing changes", s.testUnchanged, created)
	steps.Add("an image", s.testImage, created)
	steps.Add("a rollout", s.testRollout, installed)
	steps.Add("fewer regions than the spec asks for", s.testNarrow, installed)
	steps.Add("a field that cannot be changed", s.testImmutable, created)
	steps.Add("an object of another owner", s.testConflict, installed)
	steps.Add("what is propagated", s.testPropagated, installed)
	steps.Add("a policy of a member", s.testDenied, installed)
	steps.Add("a move", s.testMove, created)
	steps.Add("a member that is paused", s.testPaused, created)
	steps.Add("a member that hangs", s.testHanging, created)
	steps.Add("a member that does not respond", s.testUnreachable, created)
	steps.Add("Ctrl-C", s.testInterrupted, created)
	steps.Run(t)
	s.checkNoPlans(t)
}

// run runs the command on a manifest.
func (s *suite) run(t *testing.T, object *unstructured.Unstructured, args ...string) framework.Outcome {
	t.Helper()
	return framework.CLI(t, s.Fleet.Hub(), append([]string{"plan", "-f", file(t, object)}, args...)...)
}

// file writes a manifest.
func file(t *testing.T, object *unstructured.Unstructured) string {
	t.Helper()
	raw, err := yaml.Marshal(object.Object)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "app.yaml")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// manifest returns the sample with fields set to values, by dotted paths.
func manifest(t *testing.T, edits map[string]any) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(samples.EcommerceApp(), &object.Object); err != nil {
		t.Fatal(err)
	}
	for path, value := range edits {
		if err := unstructured.SetNestedField(object.Object, value, fields(path)...); err != nil {
			t.Fatal(err)
		}
	}
	return object
}

// answered runs the command until all members have answered but those that cannot: in these tests they have a tenth of
// the usual time.
func (s *suite) answered(t *testing.T, object *unstructured.Unstructured, unknown ...string) v1.PlanStatus {
	t.Helper()
	var found v1.PlanStatus
	ask := func() {
		found = v1.PlanStatus{}
		o := s.run(t, object, "-o", "json").Want(t, changes)
		if err := json.Unmarshal([]byte(o.Out), &found); err != nil {
			t.Fatalf("%v: %s", err, o.Out)
		}
	}
	framework.Eventually(t, "an answer of each member", func(context.Context) error {
		ask()
		for _, c := range found.Clusters {
			if c.Unknown != "" && !slices.Contains(unknown, c.Name) {
				return fmt.Errorf("%s is %s: %s", c.Name, c.Unknown, c.UnknownMessage)
			}
		}
		return nil
	})
	return found
}

// cluster returns what is planned in a cluster.
func cluster(t *testing.T, status v1.PlanStatus, name string) v1.PlannedCluster {
	t.Helper()
	for _, c := range status.Clusters {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("%s is not planned: %+v", name, status)
	return v1.PlannedCluster{}
}

// change returns what is planned for an object in a cluster.
func change(t *testing.T, c v1.PlannedCluster, kind, name string) v1.PlannedChange {
	t.Helper()
	for _, found := range c.Changes {
		if found.Kind == kind && found.Name == name {
			return found
		}
	}
	t.Errorf("no change of %s %s in %s: %+v", kind, name, c.Name, c.Changes)
	return v1.PlannedChange{}
}

func (s *suite) checkNoPlans(t *testing.T) {
	t.Helper()
	plans := &v1.PlanList{}
	if err := s.Hub.List(t.Context(), plans); err != nil {
		t.Fatal(err)
	}
	for i := range plans.Items {
		if p := &plans.Items[i]; p.GenerateName != "" {
			t.Errorf("Plan %s is left", p.Name)
		}
	}
}

// created returns a Plan of an application for a user.
func created(t *testing.T, name string, requester v1.PlanRequester) *v1.Plan {
	t.Helper()
	object := manifest(t, nil)
	raw, err := object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return &v1.Plan{
		ObjectMeta: metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: name},
		Spec:       v1.PlanSpec{Manifest: string(raw), Requester: requester},
	}
}

// missing reports whether a namespace does not exist in a member.
func (s *suite) missing(t *testing.T, member, namespace string) bool {
	t.Helper()
	err := s.Members[member].Get(t.Context(), client.ObjectKey{Name: namespace}, &corev1.Namespace{})
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return err != nil
}
