package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// installed returns the installed objects by kind and name.
func installed(t *testing.T, set Set, i Installation) map[string]*unstructured.Unstructured {
	t.Helper()
	objects, err := set.Install(i)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*unstructured.Unstructured{}
	for _, o := range objects {
		found[o.GetKind()+"/"+o.GetName()] = o
	}
	return found
}

// as converts an object; unknown fields are an error.
func as(t *testing.T, object *unstructured.Unstructured, into any) {
	t.Helper()
	if object == nil {
		t.Fatalf("no %T among the manifests", into)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, into, true); err != nil {
		t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
}

func TestInstallationComesInOrder(t *testing.T) {
	want := []string{
		"CustomResourceDefinition/ecommerceapps.ecommerce.io", "CustomResourceDefinition/memberclusters.ecommerce.io",
		"CustomResourceDefinition/cloudaccounts.ecommerce.io", "CustomResourceDefinition/backups.ecommerce.io",
		"CustomResourceDefinition/restores.ecommerce.io", "CustomResourceDefinition/plans.ecommerce.io",
		"Namespace/shopfleet-system", "ServiceAccount/shopfleet-hub",
		"ClusterRole/shopfleet-hub", "ClusterRole/shopfleet-debugger", "ClusterRole/shopfleet-hub-metrics-auth", "ClusterRole/shopfleet-metrics-reader",
		"ClusterRoleBinding/shopfleet-hub", "ClusterRoleBinding/shopfleet-hub-metrics-auth",
		"Role/shopfleet-hub", "RoleBinding/shopfleet-hub",
		"ValidatingAdmissionPolicy/shopfleet-deletion-protection-applications",
		"ValidatingAdmissionPolicy/shopfleet-deletion-protection-definitions",
		"ValidatingAdmissionPolicy/shopfleet-deletion-protection-namespaces",
		"ValidatingAdmissionPolicy/shopfleet-placement", "ValidatingAdmissionPolicy/shopfleet-plan-requester",
		"ValidatingAdmissionPolicyBinding/shopfleet-deletion-protection-applications",
		"ValidatingAdmissionPolicyBinding/shopfleet-deletion-protection-definitions",
		"ValidatingAdmissionPolicyBinding/shopfleet-deletion-protection-namespaces",
		"ValidatingAdmissionPolicyBinding/shopfleet-placement", "ValidatingAdmissionPolicyBinding/shopfleet-plan-requester",
		"Service/shopfleet-hub", "NetworkPolicy/shopfleet-hub", "PodDisruptionBudget/shopfleet-hub", "Deployment/shopfleet-hub",
	}
	objects, err := Hub.Install(Installation{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range objects {
		got = append(got, o.GetKind()+"/"+o.GetName())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	for _, set := range []Set{Member, Agent, "nothing"} {
		if _, err := set.Install(Installation{}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("installing the process of %q: %v, want %v", set, err, fs.ErrNotExist)
		}
	}
}

// TestMembersGetNoDefinitionsOfTheHub checks that members do not get the CRDs of kinds that
// only the hub reconciles.
func TestMembersGetNoDefinitionsOfTheHub(t *testing.T) {
	want := []string{"ecommerceapps.ecommerce.io", "mysqlclusters.mysql.example.com", "webapps.example.com"}
	var got []string
	for _, object := range installed(t, Spoke, Installation{}) {
		if object.GetKind() == "CustomResourceDefinition" {
			got = append(got, object.GetName())
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("definitions of a spoke (-want +got):\n%s", diff)
	}
}

func TestInstallationIsAdapted(t *testing.T) {
	for _, set := range []Set{Hub, Spoke} {
		found := installed(t, set, Installation{Namespace: "elsewhere", Image: "registry.example.com/a:b", PullSecrets: []string{"one", "two"}, Replicas: 5})
		deployment := &appsv1.Deployment{}
		as(t, found["Deployment/shopfleet-"+string(set)], deployment)
		if *deployment.Spec.Replicas != 5 || deployment.Spec.Template.Spec.Containers[0].Image != "registry.example.com/a:b" {
			t.Errorf("%s: %d replicas of %q", set, *deployment.Spec.Replicas, deployment.Spec.Template.Spec.Containers[0].Image)
		}
		if diff := cmp.Diff([]corev1.LocalObjectReference{{Name: "one"}, {Name: "two"}}, deployment.Spec.Template.Spec.ImagePullSecrets); diff != "" {
			t.Errorf("%s: pull Secrets (-want +got):\n%s", set, diff)
		}
		for name, object := range found {
			raw, err := object.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(raw), `"`+Namespace+`"`) {
				t.Errorf("%s: %s names namespace %s", set, name, Namespace)
			}
		}
		if found["Namespace/elsewhere"] == nil {
			t.Errorf("%s: no namespace", set)
		}
		if name := set.Image(DevelopmentVersion); installedImage(t, set) != name {
			t.Errorf("%s: image %q in the manifest, want %q", set, installedImage(t, set), name)
		}
	}
}

// TestTheHubKnowsTheImageOfTheSpoke checks the default of the spoke's image and its override.
func TestTheHubKnowsTheImageOfTheSpoke(t *testing.T) {
	for name, tt := range map[string]struct {
		installation Installation
		want         string
	}{
		"manifest":          {Installation{}, "shopfleet-spoke:" + DevelopmentVersion},
		"beside the hub's":  {Installation{Image: "registry.example.com:5000/team/shopfleet-hub:v1"}, "registry.example.com:5000/team/shopfleet-spoke:v1"},
		"named":             {Installation{Image: "registry.example.com/hub:v1", SpokeImage: "r/s@sha256:0"}, "r/s@sha256:0"},
		"named alone":       {Installation{SpokeImage: "r/s:v2"}, "r/s:v2"},
		"unknown":           {Installation{Image: "registry.example.com/hub:v1"}, ""},
		"another namespace": {Installation{Namespace: "elsewhere"}, "shopfleet-spoke:" + DevelopmentVersion},
	} {
		t.Run(name, func(t *testing.T) {
			deployment := &appsv1.Deployment{}
			as(t, installed(t, Hub, tt.installation)["Deployment/shopfleet-hub"], deployment)
			var got []string
			for _, argument := range deployment.Spec.Template.Spec.Containers[0].Args {
				if image, is := strings.CutPrefix(argument, "--spoke-image="); is {
					got = append(got, image)
				}
			}
			if diff := cmp.Diff([]string{tt.want}, got); diff != "" {
				t.Errorf("image (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSafeMode: an installation says in so many words whether the process is in safe mode.
func TestSafeMode(t *testing.T) {
	for _, set := range []Set{Hub, Spoke} {
		for _, on := range []bool{false, true} {
			deployment := &appsv1.Deployment{}
			as(t, installed(t, set, Installation{SafeMode: on})["Deployment/shopfleet-"+string(set)], deployment)
			var got []string
			for _, argument := range deployment.Spec.Template.Spec.Containers[0].Args {
				if strings.Contains(argument, "safe-mode") {
					got = append(got, argument)
				}
			}
			if diff := cmp.Diff([]string{fmt.Sprintf("--safe-mode=%t", on)}, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", set, diff)
			}
		}
	}
}

// TestRunbookURL: an installation passes the page of the runbook to the process, and leaves it to the process without one.
func TestRunbookURL(t *testing.T) {
	for _, set := range []Set{Hub, Spoke} {
		for _, page := range []string{"", "https://wiki/alerts"} {
			deployment := &appsv1.Deployment{}
			as(t, installed(t, set, Installation{RunbookURL: page})["Deployment/shopfleet-"+string(set)], deployment)
			arguments := deployment.Spec.Template.Spec.Containers[0].Args
			if got := RunbookURL(arguments); got != page {
				t.Errorf("%s: the arguments %v have the page %q, want %q", set, arguments, got, page)
			}
			if passed := strings.Contains(strings.Join(arguments, " "), "--runbook-url"); passed != (page != "") {
				t.Errorf("%s with %q: the arguments are %v", set, page, arguments)
			}
		}
	}
}

func TestSpokeImage(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0a", 32)
	for hub, want := range map[string]string{
		"shopfleet-hub:v1.2.3":                           "shopfleet-spoke:v1.2.3",
		"registry.example.com:5000/shopfleet-hub:v1":     "registry.example.com:5000/shopfleet-spoke:v1",
		"registry.example.com/shopfleet-hub:v1" + digest: "registry.example.com/shopfleet-spoke:v1",
		"registry.example.com/shopfleet-hub" + digest:    "",
		"registry.example.com:5000/shopfleet-hub":        "",
		"shopfleet-hub:":                                 "",
		"shopfleet-hub:v1/other:v2":                      "",
		"my-shopfleet-hub:v1":                            "",
		"":                                               "",
	} {
		if got := SpokeImage(hub); got != want {
			t.Errorf("beside %q: %q, want %q", hub, got, want)
		}
	}
}

func installedImage(t *testing.T, set Set) string {
	t.Helper()
	deployment := &appsv1.Deployment{}
	as(t, installed(t, set, Installation{})["Deployment/shopfleet-"+string(set)], deployment)
	return deployment.Spec.Template.Spec.Containers[0].Image
}

// TestPodsFitTheirSurroundings checks that selectors match the pods, and that ports have the
// names that other objects refer to.
func TestPodsFitTheirSurroundings(t *testing.T) {
	for _, set := range []Set{Hub, Spoke} {
		found, name := installed(t, set, Installation{}), "shopfleet-"+string(set)
		deployment, service := &appsv1.Deployment{}, &corev1.Service{}
		budget, policy := &policyv1.PodDisruptionBudget{}, &networkingv1.NetworkPolicy{}
		as(t, found["Deployment/"+name], deployment)
		as(t, found["Service/"+name], service)
		as(t, found["PodDisruptionBudget/"+name], budget)
		as(t, found["NetworkPolicy/"+name], policy)
		labels := map[string]string{"app.kubernetes.io/name": name}
		for what, selector := range map[string]map[string]string{
			"Deployment": deployment.Spec.Selector.MatchLabels, "Service": service.Spec.Selector,
			"PodDisruptionBudget": budget.Spec.Selector.MatchLabels, "NetworkPolicy": policy.Spec.PodSelector.MatchLabels,
		} {
			if diff := cmp.Diff(labels, selector); diff != "" {
				t.Errorf("%s: the %s selects (-want +got):\n%s", set, what, diff)
			}
		}
		if deployment.Spec.Template.Labels["app.kubernetes.io/name"] != name {
			t.Errorf("%s: labels %v of the pods", set, deployment.Spec.Template.Labels)
		}
		pod := deployment.Spec.Template.Spec
		ports := map[string]int32{}
		for _, port := range pod.Containers[0].Ports {
			ports[port.Name] = port.ContainerPort
		}
		if diff := cmp.Diff(map[string]int32{"metrics": 8443, "probes": 8081}, ports); diff != "" {
			t.Errorf("%s: ports (-want +got):\n%s", set, diff)
		}
		if service.Spec.Ports[0].TargetPort.StrVal != "metrics" || len(policy.Spec.PolicyTypes) != 2 {
			t.Errorf("%s: Service %v, NetworkPolicy %v", set, service.Spec.Ports, policy.Spec.PolicyTypes)
		}
		if pod.ServiceAccountName != name || *pod.TerminationGracePeriodSeconds < 20 || pod.PriorityClassName != "" {
			t.Errorf("%s: account %q, %d s to end", set, pod.ServiceAccountName, *pod.TerminationGracePeriodSeconds)
		}
	}
}

// TestNoWildcardsAnywhere checks the roles in every file below this folder.
func TestNoWildcardsAnywhere(t *testing.T) {
	roles := 0
	tree := os.DirFS(".")
	err := fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" || strings.Contains(path, "templates") {
			return err
		}
		raw, err := fs.ReadFile(tree, path)
		if err != nil {
			return err
		}
		if !strings.Contains(string(raw), "\nkind: Role\n") && !strings.Contains(string(raw), "\nkind: ClusterRole\n") {
			return nil
		}
		role := &roleFile{}
		if err := yaml.UnmarshalStrict(raw, role); err != nil {
			return err
		}
		roles++
		for _, rule := range role.Rules {
			words := slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs, rule.NonResourceURLs)
			if strings.Contains(strings.Join(words, ""), "*") {
				t.Errorf("%s: wildcard in %v", path, rule)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if roles < 20 {
		t.Errorf("%d roles, want those of rbac, manager and charts", roles)
	}
}

// TestMetricsAskTheServer checks that each process may authorize requests for metrics, and
// that no binding grants them.
func TestMetricsAskTheServer(t *testing.T) {
	for _, set := range []Set{Hub, Spoke} {
		found, name := installed(t, set, Installation{}), "shopfleet-"+string(set)
		binding := &rbacv1.ClusterRoleBinding{}
		as(t, found["ClusterRoleBinding/"+name+"-metrics-auth"], binding)
		want := []rbacv1.Subject{{Kind: "ServiceAccount", Name: name, Namespace: Namespace}}
		if diff := cmp.Diff(want, binding.Subjects); diff != "" || found["ClusterRole/"+binding.RoleRef.Name] == nil {
			t.Errorf("%s: bound to %q (-want +got):\n%s", set, binding.RoleRef.Name, diff)
		}
		for what, object := range found {
			if role, _, _ := unstructured.NestedString(object.Object, "roleRef", "name"); role == "shopfleet-debugger" || role == "shopfleet-metrics-reader" {
				t.Errorf("%s: %s binds %s", set, what, role)
			}
		}
	}
}

// TestKustomizationsAreComplete checks that every manifest is listed in its Kustomization.
func TestKustomizationsAreComplete(t *testing.T) {
	folders := []string{"crd/bases", "monitoring/hub", "monitoring/spoke"}
	for _, pattern := range []string{"rbac/*", "manager/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		folders = append(folders, found...)
	}
	for _, folder := range folders {
		raw, err := os.ReadFile(filepath.Join(folder, "Kustomization"))
		if err != nil {
			t.Error(err)
			continue
		}
		var named struct {
			Resources []string `json:"resources"`
		}
		if err := yaml.Unmarshal(raw, &named); err != nil {
			t.Fatal(err)
		}
		present, err := filepath.Glob(folder + "/*.yaml")
		if err != nil {
			t.Fatal(err)
		}
		for i := range present {
			present[i] = filepath.Base(present[i])
		}
		slices.Sort(named.Resources)
		if diff := cmp.Diff(present, named.Resources); diff != "" {
			t.Errorf("%s (-files +Kustomization):\n%s", folder, diff)
		}
	}
}
