package install

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/shopfleet/shopfleet/config"
)

func TestChartsPassLint(t *testing.T) {
	for _, process := range processes() {
		if out, stderr, err := helm(t, process, "lint", "--strict"); err != nil {
			t.Errorf("helm lint: %v\n%s%s", err, out, stderr)
		}
	}
}

func TestChartValues(t *testing.T) {
	values := map[string]any{
		"image":            map[string]any{"repository": "registry.example.com/hub", "tag": "v2", "pullPolicy": "Always"},
		"imagePullSecrets": []map[string]string{{"name": "registry"}},
		"replicas":         3, "logLevel": 4, "profiling": true, "extraArgs": []string{"--member-copies-qps=50"},
		"resources":         map[string]any{"limits": map[string]string{"memory": "2Gi"}},
		"nodeSelector":      map[string]string{"pool": "system"},
		"tolerations":       []map[string]string{{"key": "system", "operator": "Exists"}},
		"priorityClassName": "high", "podLabels": map[string]string{"team": "shops", "app.kubernetes.io/name": "other"},
		"networkPolicy":       map[string]any{"apiServerPorts": []int{443, 16443}},
		"podDisruptionBudget": map[string]any{"enabled": false},
		"podSecurityContext":  map[string]any{"runAsUser": 1000680000, "fsGroup": 1000680000},
		"crds":                map[string]any{"enabled": false},
	}
	raw, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "values.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	rendered := template(t, config.Hub, "--namespace", "elsewhere", "--values", file)
	for name, object := range rendered {
		if kind := object.GetKind(); kind == "PodDisruptionBudget" || kind == "CustomResourceDefinition" || kind == "ServiceMonitor" {
			t.Errorf("%s is there, and was not asked for", name)
		}
		if namespace := object.GetNamespace(); namespace != "" && namespace != "elsewhere" {
			t.Errorf("%s is in namespace %q", name, namespace)
		}
		if text, _ := object.MarshalJSON(); strings.Contains(string(text), `"namespace":"`+config.Namespace+`"`) {
			t.Errorf("%s names namespace %s", name, config.Namespace)
		}
	}
	checkDeployment(t, rendered)
	if policy, _ := rendered["NetworkPolicy/shopfleet-hub"].MarshalJSON(); !strings.Contains(string(policy), `"port":16443,`) || strings.Contains(string(policy), `"port":6443,`) {
		t.Errorf("network policy %s, want port 16443 and not 6443", policy)
	}
}

// checkDeployment compares the Deployment with the values of TestChartValues.
func checkDeployment(t *testing.T, rendered objects) {
	t.Helper()
	deployment := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(rendered["Deployment/shopfleet-hub"].Object, deployment); err != nil {
		t.Fatal(err)
	}
	pod := deployment.Spec.Template.Spec
	got := map[string]any{
		"replicas": *deployment.Spec.Replicas, "image": pod.Containers[0].Image, "pull": pod.Containers[0].ImagePullPolicy,
		"secrets": pod.ImagePullSecrets, "memory": pod.Containers[0].Resources, "nodes": pod.NodeSelector,
		"tolerations": pod.Tolerations, "priority": pod.PriorityClassName, "labels": deployment.Spec.Template.Labels,
		"user": pod.SecurityContext.RunAsUser, "group": pod.SecurityContext.FSGroup, "root": *pod.SecurityContext.RunAsNonRoot,
	}
	want := map[string]any{
		"replicas": int32(3), "image": "registry.example.com/hub:v2", "pull": corev1.PullAlways,
		"secrets": []corev1.LocalObjectReference{{Name: "registry"}},
		"memory": corev1.ResourceRequirements{
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")},
			Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi"), corev1.ResourceCPU: resource.MustParse("100m")},
		},
		"nodes": map[string]string{"pool": "system"}, "tolerations": []corev1.Toleration{{Key: "system", Operator: "Exists"}},
		"user": new(int64(1000680000)), "group": new(int64(1000680000)), "root": true,
		"priority": "high", "labels": map[string]string{
			"team": "shops", "app.kubernetes.io/name": "shopfleet-hub", "app.kubernetes.io/part-of": "shopfleet",
		},
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("Deployment (-want +got):\n%s", diff)
	}
	arguments := strings.Join(pod.Containers[0].Args, " ")
	if !strings.Contains(arguments, "-v=4 --profiling=true --member-copies-qps=50") || strings.Contains(arguments, "-v=0") {
		t.Errorf("arguments %s", arguments)
	}
}

// TestTheHubOfAChartKnowsTheImageOfTheSpoke checks that the default image of the spoke is beside the hub's.
func TestTheHubOfAChartKnowsTheImageOfTheSpoke(t *testing.T) {
	built(t, "helm")
	digest := "sha256:" + strings.Repeat("0a", 32)
	for values, want := range map[string]string{
		"replicas=2": "shopfleet-spoke:" + config.DevelopmentVersion,
		"image.repository=r.example.com:5000/a/shopfleet-hub,image.tag=v2":                      "r.example.com:5000/a/shopfleet-spoke:v2",
		"image.repository=r.example.com/shopfleet-hub,image.digest=" + digest:                   "r.example.com/shopfleet-spoke:" + config.DevelopmentVersion,
		"image.repository=r.example.com/shopfleet-hub,image.tag=v2,image.digest=" + digest:      "r.example.com/shopfleet-spoke:v2",
		"image.repository=r.example.com/shopfleet-hub,spokeImage=r.example.com/spoke@" + digest: "r.example.com/spoke@" + digest,
		"image.repository=r.example.com/my-shopfleet-hub,image.tag=v2":                          "",
	} {
		t.Run(values, func(t *testing.T) {
			deployment := &appsv1.Deployment{}
			rendered := template(t, config.Hub, "--set", values)["Deployment/shopfleet-hub"].Object
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(rendered, deployment); err != nil {
				t.Fatal(err)
			}
			if got := arguments(deployment); !strings.Contains(got, "--spoke-image="+want+" ") {
				t.Errorf("arguments %s, want image %q", got, want)
			}
		})
	}
	if _, stderr, err := helm(t, config.Spoke, "template", "any", "--set", "spokeImage=s:v1"); err == nil || !strings.Contains(stderr, "spokeImage") {
		t.Errorf("a spoke with the value: %v, %q", err, stderr)
	}
}

// TestChartsReachOut checks what a hub behind a proxy has, whose identity is the cloud's.
func TestChartsReachOut(t *testing.T) {
	for _, process := range processes() {
		t.Run(string(process), func(t *testing.T) {
			rendered := template(t, process, everything()...)
			name := "shopfleet-" + string(process)
			deployment := &appsv1.Deployment{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(rendered["Deployment/"+name].Object, deployment); err != nil {
				t.Fatal(err)
			}
			got := map[string]string{
				"ready": strconv.Itoa(int(deployment.Spec.MinReadySeconds)), "team": deployment.Annotations["team"],
				"role": rendered["ServiceAccount/"+name].GetAnnotations()["eks.amazonaws.com/role-arn"],
			}
			container := deployment.Spec.Template.Spec.Containers[0]
			for _, v := range container.Env {
				got[v.Name] = v.Value
			}
			for _, m := range container.VolumeMounts {
				got[m.Name] = m.MountPath
			}
			want := map[string]string{
				"ready": "5", "team": "shops", "role": "arn:aws:iam::1:role/hub", "POD_NAMESPACE": "", "GOMEMLIMIT": "", "TZ": "UTC",
				"HTTP_PROXY": "http://proxy.example.com:3128", "HTTPS_PROXY": "http://proxy.example.com:3129",
				"NO_PROXY":      "$(KUBERNETES_SERVICE_HOST),169.254.0.0/16,fd00:ec2::/32,.svc,10.0.0.0/8",
				"SSL_CERT_FILE": "/etc/shopfleet/certificates/ca-bundle.crt", "trusted-certificates": "/etc/shopfleet/certificates",
				"scratch": "/scratch",
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if policy, _ := rendered["NetworkPolicy/"+name].MarshalJSON(); !strings.Contains(string(policy), `{"ports":[{"port":80,"protocol":"TCP"},{"port":988,`) {
				t.Errorf("network policy %s, want ports of metadata services", policy)
			}
		})
	}
}

// TestAlertsLinkToTheRunbookOfTheVersion checks where the alerts of a release link to, and of one with a page elsewhere.
func TestAlertsLinkToTheRunbookOfTheVersion(t *testing.T) {
	for _, process := range processes() {
		for flags, page := range map[string]string{
			"":                              "https://github.com/shopfleet/shopfleet/blob/main/hub/RUNBOOK.md",
			"runbookURL=http://wiki/alerts": "http://wiki/alerts",
		} {
			rendered := template(t, process, "--set", "prometheusRule.enabled=true,prometheusRule."+cmp.Or(flags, "runbookURL="))
			text, err := rendered["PrometheusRule/shopfleet-"+string(process)].MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			alerts, links := strings.Count(string(text), `"alert":`), strings.Count(string(text), `"runbook_url":"`+page+`#`)
			if alerts == 0 || alerts != links {
				t.Errorf("%s with %q: %d of %d alerts link to %s", process, flags, links, alerts, page)
			}
			text, err = rendered["Deployment/shopfleet-"+string(process)].MarshalJSON()
			if passed := strings.Contains(string(text), `"--runbook-url=`+page+`"`); err != nil || passed != (flags != "") {
				t.Errorf("%s with %q: the page is passed to the process: %t, %v", process, flags, passed, err)
			}
		}
	}
}

func TestChartsRefuseBadValues(t *testing.T) {
	built(t, "helm")
	for value, says := range map[string]string{
		"replicas=0":                            "replicas",
		"safeMode=yes":                          "safeMode",
		"replica=3":                             "replica",
		"image.pullPolicy=Sometimes":            "pullPolicy",
		"image.tag=no tag":                      "tag",
		"spokeImage=no image":                   "spokeImage",
		"logLevel=high":                         "logLevel",
		"resources.limits.memory=lots":          "memory",
		"networkPolicy.apiServerPorts={}":       "apiServerPorts",
		"networkPolicy.apiServerPorts={0}":      "apiServerPorts",
		"podDisruptionBudget.maxUnavailable=0":  "maxUnavailable",
		"serviceMonitor.interval=often":         "interval",
		"nodeSelector.pool=1":                   "nodeSelector",
		"podDisruptionBudget.maxUnavailable=50": "",
		"env[0].name=POD_NAMESPACE":             "env",
		"proxy.https=proxy.example.com":         "https",
		"proxy.except={a b}":                    "except",
		"trustedCertificates.configMap=no name": "configMap",
		"podSecurityContext.runAsUser=0":        "runAsUser",
		"podSecurityContext.runAsNonRoot=false": "runAsNonRoot",
		"minReadySeconds=-1":                    "minReadySeconds",
		"prometheusRule.runbookURL=runbook.md":  "runbookURL",
	} {
		t.Run(value, func(t *testing.T) {
			_, stderr, err := helm(t, config.Hub, "template", "any", "--set", value)
			switch {
			case says == "" && err != nil:
				t.Errorf("refused: %s", stderr)
			case says != "" && (err == nil || !strings.Contains(stderr, says)):
				t.Errorf("%v, %q; want it refused with a word about %q", err, stderr, says)
			}
		})
	}
}
