package install

import (
	"errors"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

var errNoVersion = errors.New("the definition has no version")

// testNewerRelease installs and joins where the Lease of the leader names a newer release, and installs where a definition has
// a field more.
func (s *suite) testNewerRelease(t *testing.T) {
	t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: "shopfleet-hub", Labels: v1.VersionLabels("v1.3.0")}}
	framework.Create(t, s.client, lease)
	mark := s.mark(t)
	s.run(t, "install", "hub").Want(t, framework.Failed,
		"installing the hub of release "+framework.CLIVersion+" over v1.3.0", "Use kubectl-shopfleet of v1.3.0")
	s.run(t, "join", "eu-1", "--member-kubeconfig", s.cluster.AdminKubeconfig()).Want(t, framework.Failed,
		"joining with release "+framework.CLIVersion+" a hub of v1.3.0", "Use kubectl-shopfleet of v1.3.0")
	if wrote := s.writes(t, mark); len(wrote) > 0 {
		t.Errorf("it wrote:\n%s", wrote)
	}
	framework.Delete(t, s.client, lease)

	s.editDefinition(t, func(properties map[string]any) { properties["added"] = map[string]any{"type": "string"} })
	mark = s.mark(t)
	s.run(t, "install", "hub").Want(t, framework.Done, "customresourcedefinition.apiextensions.k8s.io/plans.ecommerce.io kept (it is of a newer release)")
	if wrote := s.writes(t, mark); len(wrote) > 0 {
		t.Errorf("it wrote:\n%s", wrote)
	}
	s.editDefinition(t, func(properties map[string]any) { delete(properties, "added") })
}

// editDefinition changes the properties of the status of Plans.
func (s *suite) editDefinition(t *testing.T, edit func(properties map[string]any)) {
	t.Helper()
	definition, err := config.Definition("ecommerce.io", "plans")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(definition), definition); err != nil {
		t.Fatal(err)
	}
	before := definition.DeepCopy()
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if err == nil && len(versions) == 0 {
		err = errNoVersion
	}
	if err != nil {
		t.Fatal(err)
	}
	path := []string{"schema", "openAPIV3Schema", "properties", "status", "properties"}
	version, _ := versions[0].(map[string]any)
	properties, _, err := unstructured.NestedMap(version, path...)
	if err != nil {
		t.Fatal(err)
	}
	edit(properties)
	if err := errors.Join(
		unstructured.SetNestedMap(version, properties, path...),
		unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions"),
		s.client.Patch(t.Context(), definition, client.MergeFrom(before)),
	); err != nil {
		t.Fatal(err)
	}
}
