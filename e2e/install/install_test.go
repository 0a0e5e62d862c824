package install

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/installer"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// suite is a cluster with simulated kubelets: pods become ready whatever their image.
type suite struct {
	cluster *fleet.Cluster
	client  client.Client
}

func TestInstall(t *testing.T) {
	e := framework.New(t, framework.Options{
		Fleet: fleet.Options{Hub: fleet.ClusterSpec{Name: "hub", Nodes: 2}}, Manifests: map[string][]string{"hub": nil},
	})
	s := &suite{cluster: e.Fleet.Hub(), client: e.Hub}

	const there, gone = "install creates all objects and waits for the pods", "uninstall keeps the objects of users"
	const cleaned = "uninstall rejects deleting CRDs in use"
	var steps framework.Steps
	steps.Add("a dry run changes nothing", s.testDryRun)
	steps.Add(there, s.testInstall)
	steps.Add("install again writes nothing", s.testInstallAgain, there)
	steps.Add("install with other flags changes one object", s.testUpgrade, there)
	steps.Add("install reverts changes by hand", s.testRepair, there)
	steps.Add("install prunes objects of a former version", s.testPrune, there)
	steps.Add("install explains why the pods are not ready in time", s.testTimeout, there)
	steps.Add("install rejects a spoke beside a hub", s.testSpokeBesideHub, there)
	steps.Add("install changes nothing of a newer release", s.testNewerRelease, there)
	steps.Add(gone, s.testUninstall, there)
	steps.Add(cleaned, s.testDefinitionsInUse, gone)
	steps.Add("a spoke is installed and removed with its CRDs", s.testSpoke, cleaned)
	steps.Add("the API server accepts all manifests", s.testManifests, there)
	steps.Add("pods pass restricted Pod Security", s.testRestricted, there)
	steps.Run(t)
}

func (s *suite) run(t *testing.T, args ...string) framework.Outcome {
	t.Helper()
	return framework.CLI(t, s.cluster, args...)
}

// actions counts the objects by what was done to them.
func actions(o framework.Outcome) map[string]int {
	counts := map[string]int{}
	for line := range strings.Lines(o.Out) {
		words := strings.Fields(line)
		counts[words[1]]++
	}
	return counts
}

// installed is the number of objects of a hub, of which the inventory is not in the manifests.
const installed = 31

// writes returns the write requests of the program since the mark.
func (s *suite) writes(t *testing.T, since audit.Mark) audit.Log {
	t.Helper()
	log, _, err := s.cluster.AuditSince(t.Context(), since)
	if err != nil {
		t.Fatal(err)
	}
	return log.ByAgent("kubectl-shopfleet/").Writes()
}

func (s *suite) mark(t *testing.T) audit.Mark {
	t.Helper()
	mark, err := s.cluster.AuditMark(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return mark
}

// versions returns the resourceVersions of the installed objects.
func (s *suite) versions(t *testing.T, process config.Set) map[string]string {
	t.Helper()
	all, err := process.Install(config.Installation{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, object := range all {
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(object.GroupVersionKind())
		err := s.client.Get(t.Context(), client.ObjectKeyFromObject(object), live)
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		if err == nil {
			found[object.GetKind()+"/"+object.GetName()] = live.GetResourceVersion()
		}
	}
	return found
}

func (s *suite) testDryRun(t *testing.T) {
	t.Helper()
	mark := s.mark(t)
	printed := s.run(t, "install", "hub", "--dry-run=client", "-o", "yaml").Want(t, framework.Done)
	if shown := parse(t, []byte(printed.Out)); len(shown) != installed-1 {
		t.Errorf("%d objects printed, want %d", len(shown), installed-1)
	}
	tried := s.run(t, "install", "hub", "--dry-run=server").Want(t, framework.Done,
		"namespace/shopfleet-system created (server dry run)", "deployment.apps/shopfleet-hub created (server dry run, not validated")
	if diff := cmp.Diff(map[string]int{"created": installed}, actions(tried)); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	if wrote := s.writes(t, mark); len(wrote) > 0 {
		t.Errorf("a dry run wrote:\n%s", wrote)
	}
	if there := s.versions(t, config.Hub); len(there) > 0 {
		t.Errorf("there after a dry run: %v", there)
	}
}

func (s *suite) deployment(t *testing.T) *appsv1.Deployment {
	t.Helper()
	deployment := &appsv1.Deployment{}
	if err := s.client.Get(t.Context(), client.ObjectKey{Namespace: config.Namespace, Name: "shopfleet-hub"}, deployment); err != nil {
		t.Fatal(err)
	}
	return deployment
}

func (s *suite) testInstall(t *testing.T) {
	t.Helper()
	o := s.run(t, "install", "hub", "--timeout", fleettest.Timeout.String()).Want(t, framework.Done,
		"customresourcedefinition.apiextensions.k8s.io/memberclusters.ecommerce.io created",
		"deployment.apps/shopfleet-hub created", "shopfleet-hub: 2 of 2 pods ready")
	if diff := cmp.Diff(map[string]int{"created": installed}, actions(o)); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	deployment := s.deployment(t)
	if got, want := deployment.Spec.Template.Spec.Containers[0].Image, "shopfleet-hub:v1.2.3"; got != want {
		t.Errorf("image %q, want %q", got, want)
	}
	if got, want := arguments(deployment), "--spoke-image=shopfleet-spoke:v1.2.3 "; !strings.Contains(got, want) {
		t.Errorf("arguments %s, want %s", got, want)
	}
	if deployment.Status.AvailableReplicas != 2 {
		t.Errorf("%d replicas available when it ended", deployment.Status.AvailableReplicas)
	}
}

// arguments returns those of the container, each followed by a space.
func arguments(deployment *appsv1.Deployment) string {
	return strings.Join(deployment.Spec.Template.Spec.Containers[0].Args, " ") + " "
}

func (s *suite) testInstallAgain(t *testing.T) {
	t.Helper()
	// Controllers still write the status of the Deployment.
	before, mark := s.versions(t, config.Hub), s.mark(t)
	o := s.run(t, "install", "hub", "--timeout", fleettest.Timeout.String()).Want(t, framework.Done)
	if diff := cmp.Diff(map[string]int{"unchanged": installed}, actions(o)); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	if wrote := s.writes(t, mark); len(wrote) > 0 {
		t.Errorf("it wrote:\n%s", wrote)
	}
	s.checkVersions(t, before)
}

// checkOneChange checks that a run changed the Deployment and nothing else.
func (s *suite) checkOneChange(t *testing.T, args ...string) {
	t.Helper()
	mark := s.mark(t)
	o := s.run(t, append([]string{"install", "hub", "--timeout", fleettest.Timeout.String()}, args...)...).
		Want(t, framework.Done, "deployment.apps/shopfleet-hub configured")
	if diff := cmp.Diff(map[string]int{"unchanged": installed - 1, "configured": 1}, actions(o)); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	if wrote := s.writes(t, mark); len(wrote) != 1 || len(wrote.Of("deployments")) != 1 {
		t.Errorf("it wrote:\n%swant one Deployment", wrote)
	}
}

func (s *suite) testUpgrade(t *testing.T) {
	t.Helper()
	s.run(t, "install", "hub", "--image", "registry.example.com/hub:v2", "--dry-run=server").
		Want(t, framework.Done, "deployment.apps/shopfleet-hub configured (server dry run)", "service/shopfleet-hub unchanged",
			"the image of the spoke cannot be derived from registry.example.com/hub:v2", "Name it with --spoke-image")
	s.run(t, "install", "spoke", "--spoke-image", "spoke:v2", "--dry-run=client").Want(t, framework.Misused, "name the image of the spoke with --image")
	s.checkOneChange(t, "--image", "registry.example.com/hub:v2", "--spoke-image", "registry.example.com/spoke:v2", "--replicas", "3", "--image-pull-secret", "mirror")
	deployment := s.deployment(t)
	if got := deployment.Spec.Template.Spec.Containers[0].Image; got != "registry.example.com/hub:v2" {
		t.Errorf("image %q", got)
	}
	if got := deployment.Spec.Template.Spec.ImagePullSecrets; len(got) != 1 || got[0].Name != "mirror" {
		t.Errorf("pull Secrets %v", got)
	}
	if got, want := arguments(deployment), "--spoke-image=registry.example.com/spoke:v2 "; !strings.Contains(got, want) {
		t.Errorf("arguments %s, want %s", got, want)
	}
	if deployment.Status.AvailableReplicas != 3 || deployment.Status.UpdatedReplicas != 3 {
		t.Errorf("status %+v, want 3 replicas rolled out", deployment.Status)
	}
	s.checkSafeMode(t)
}

// checkSafeMode goes into safe mode and, without the flag, out of it. The pull Secret stays without its flag.
func (s *suite) checkSafeMode(t *testing.T) {
	t.Helper()
	same := []string{"--image", "registry.example.com/hub:v2", "--spoke-image", "registry.example.com/spoke:v2", "--replicas", "3"}
	for _, on := range []bool{true, false} {
		args := slices.Clone(same)
		if on {
			args = append(args, "--safe-mode")
		}
		s.checkOneChange(t, args...)
		if got, want := arguments(s.deployment(t)), fmt.Sprintf("--safe-mode=%t ", on); !strings.Contains(got, want) {
			t.Errorf("arguments %s, want %s", got, want)
		}
		if got := s.deployment(t).Spec.Template.Spec.ImagePullSecrets; len(got) != 1 || got[0].Name != "mirror" {
			t.Errorf("pull Secrets %v", got)
		}
	}
}

func (s *suite) testRepair(t *testing.T) {
	t.Helper()
	deployment := s.deployment(t)
	patch := client.MergeFrom(deployment.DeepCopy())
	deployment.Spec.Template.Spec.Containers[0].Args[0] = "--namespace=other"
	deployment.Annotations["example.com/theirs"] = "stays"
	if err := s.client.Patch(t.Context(), deployment, patch); err != nil {
		t.Fatal(err)
	}
	s.checkOneChange(t)
	deployment = s.deployment(t)
	if got := deployment.Spec.Template.Spec.Containers[0].Args[0]; got != "--namespace=$(POD_NAMESPACE)" {
		t.Errorf("argument %q after the repair", got)
	}
	if deployment.Annotations["example.com/theirs"] != "stays" {
		t.Error("the annotation of another client is gone")
	}
}

// testPrune installs over a version that had other objects. A user has replaced one of them.
func (s *suite) testPrune(t *testing.T) {
	t.Helper()
	former := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "shopfleet-former"}}
	if err := s.client.Apply(t.Context(), rbacv1ac.ClusterRole(former.Name).WithLabels(map[string]string{"app.kubernetes.io/part-of": "shopfleet"}), client.FieldOwner(installer.FieldManager)); err != nil {
		t.Fatal(err)
	}
	theirs := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "shopfleet-theirs"}}
	framework.Create(t, s.client, theirs)
	inventory := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: "shopfleet-hub-inventory"}}
	framework.Edit(t, s.client, inventory, func(m *corev1.ConfigMap) {
		const role = "rbac.authorization.k8s.io/v1 ClusterRole  "
		m.Data["objects"] += role + former.Name + "\n" + role + theirs.Name + "\n" + role + "shopfleet-gone\n" +
			"v1 Namespace  production\nnone.example.com/v1 None  none\n"
	})
	const pruned = "clusterrole.rbac.authorization.k8s.io/shopfleet-former pruned"
	s.run(t, "install", "hub", "--dry-run=server").Want(t, framework.Done, pruned+" (server dry run)", "configmap/shopfleet-hub-inventory configured")
	o := s.run(t, "install", "hub", "--timeout", fleettest.Timeout.String()).Want(t, framework.Done, pruned, "configmap/shopfleet-hub-inventory configured")
	if got := actions(o)["pruned"]; got != 1 {
		t.Errorf("%d objects pruned, want 1", got)
	}
	if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(former), former); !apierrors.IsNotFound(err) {
		t.Errorf("what a former version installed: %v, want it gone", err)
	}
	framework.Delete(t, s.client, theirs)
}

func (s *suite) testTimeout(t *testing.T) {
	t.Helper()
	if err := s.cluster.Freeze(t.Context(), fleet.Kwok); err != nil {
		t.Fatal(err)
	}
	s.run(t, "install", "hub", "--image", "late:v3", "--timeout", "3s").
		Want(t, framework.NotReady, "not rolled out", "kubectl -n shopfleet-system describe pods")
	if err := s.cluster.Thaw(t.Context(), fleet.Kwok); err != nil {
		t.Fatal(err)
	}
	s.run(t, "install", "hub", "--timeout", fleettest.Timeout.String()).Want(t, framework.Done)
}

func (s *suite) testSpokeBesideHub(t *testing.T) {
	t.Helper()
	mark := s.mark(t)
	s.run(t, "install", "spoke").Want(t, framework.Failed, `"shopfleet-system/shopfleet-hub"`, "would reconcile the same objects")
	if wrote := s.writes(t, mark); len(wrote) > 0 {
		t.Errorf("it wrote:\n%s", wrote)
	}
}

// userObjects returns objects of users, which uninstall keeps.
func userObjects() []client.Object {
	meta := metav1.ObjectMeta{Namespace: config.Namespace, Name: "eu-1"}
	return []client.Object{
		&corev1.Secret{ObjectMeta: meta},
		&v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}},
		&v1.EcommerceApp{ObjectMeta: meta, Spec: v1.EcommerceAppSpec{Image: "shop:v1"}},
		apitest.CloudAccount("production").AWS("123456789012").Obj(),
		apitest.Backup("monday").Namespace(config.Namespace).Obj(),
		apitest.Restore("tuesday").Namespace(config.Namespace).Obj(),
	}
}

func (s *suite) testUninstall(t *testing.T) {
	t.Helper()
	for _, object := range userObjects() {
		if err := s.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	mark := s.mark(t)
	s.run(t, "uninstall", "hub", "--delete-definitions").Want(t, framework.Failed, "the CRD has objects", "Nothing was deleted")
	if wrote := s.writes(t, mark); len(wrote) > 0 {
		t.Errorf("it wrote:\n%s", wrote)
	}
	before := s.versions(t, config.Hub)
	s.run(t, "uninstall", "hub", "--dry-run=server").Want(t, framework.Done, "deployment.apps/shopfleet-hub deleted (server dry run)")
	s.checkVersions(t, before)
	s.run(t, "uninstall", "hub", "--timeout", fleettest.Timeout.String()).Want(t, framework.Done,
		"deployment.apps/shopfleet-hub deleted", "clusterrolebinding.rbac.authorization.k8s.io/shopfleet-hub deleted", "Left: ")
	want := []string{
		"CustomResourceDefinition/backups.ecommerce.io", "CustomResourceDefinition/cloudaccounts.ecommerce.io",
		"CustomResourceDefinition/ecommerceapps.ecommerce.io", "CustomResourceDefinition/memberclusters.ecommerce.io",
		"CustomResourceDefinition/plans.ecommerce.io", "CustomResourceDefinition/restores.ecommerce.io", "Namespace/shopfleet-system",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(s.versions(t, config.Hub)))); diff != "" {
		t.Errorf("left of the hub (-want +got):\n%s", diff)
	}
	for _, object := range userObjects() {
		if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			t.Errorf("%T after uninstall: %v", object, err)
		}
	}
	pods := &corev1.PodList{}
	if err := s.client.List(t.Context(), pods, client.InNamespace(config.Namespace)); err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) > 0 {
		t.Errorf("%d pods are left", len(pods.Items))
	}
	s.run(t, "uninstall", "hub").Want(t, framework.Done, "Left: ")
}

func (s *suite) testDefinitionsInUse(t *testing.T) {
	t.Helper()
	s.run(t, "uninstall", "hub", "--delete-definitions").Want(t, framework.Failed, "ecommerceapps.ecommerce.io", "shopfleet-system/eu-1")
	for _, object := range userObjects() {
		if err := s.client.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	s.run(t, "uninstall", "hub", "--delete-definitions", "--yes").Want(t, framework.Done,
		"customresourcedefinition.apiextensions.k8s.io/memberclusters.ecommerce.io deleted")
}

func (s *suite) testSpoke(t *testing.T) {
	t.Helper()
	s.run(t, "install", "spoke", "--replicas", "1", "--timeout", fleettest.Timeout.String()).Want(t, framework.Done,
		"customresourcedefinition.apiextensions.k8s.io/webapps.example.com created", "shopfleet-spoke: 1 of 1 pods ready")
	s.run(t, "uninstall", "spoke", "--delete-definitions", "--yes", "--timeout", fleettest.Timeout.String()).Want(t, framework.Done, "Left: Namespace")
	if diff := cmp.Diff([]string{"Namespace/shopfleet-system"}, slices.Sorted(maps.Keys(s.versions(t, config.Spoke)))); diff != "" {
		t.Errorf("left of the spoke (-want +got):\n%s", diff)
	}
}
