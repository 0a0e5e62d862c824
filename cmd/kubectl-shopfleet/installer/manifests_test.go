package installer

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/config"
)

func object(apiVersion, kind, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetName(name)
	return o
}

func TestResultString(t *testing.T) {
	deployment, namespace := object("apps/v1", "Deployment", "shopfleet-hub"), object("v1", "Namespace", "shopfleet-system")
	for want, done := range map[string]Result{
		"deployment.apps/shopfleet-hub created":                     {Object: deployment, Action: Created},
		"namespace/shopfleet-system unchanged":                      {Object: namespace, Action: Unchanged},
		"deployment.apps/shopfleet-hub configured (server dry run)": {Object: deployment, Action: Configured, DryRun: true},
		"deployment.apps/shopfleet-hub created (server dry run, not validated: its namespace does not exist yet)": {
			Object: deployment, Action: Created, DryRun: true, Unchecked: true,
		},
	} {
		if got := done.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestSame(t *testing.T) {
	live := object("v1", "ConfigMap", "a")
	live.SetResourceVersion("7")
	manager := metav1.ManagedFieldsEntry{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply, Time: &metav1.Time{Time: time.Unix(1, 0)}}
	live.SetManagedFields([]metav1.ManagedFieldsEntry{manager})
	outcome := live.DeepCopy()
	manager.Time = &metav1.Time{Time: time.Unix(2, 0)}
	outcome.SetManagedFields([]metav1.ManagedFieldsEntry{manager})
	outcome.SetResourceVersion("")
	if !same(live, outcome) {
		t.Error("a dry run that changes nothing differs")
	}
	outcome.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: FieldManager, Operation: metav1.ManagedFieldsOperationApply}})
	if same(live, outcome) {
		t.Error("another field manager makes no difference")
	}
	if live.GetResourceVersion() != "7" {
		t.Error("comparing changed the object")
	}
}

func TestProgress(t *testing.T) {
	deployment := func(generation, observed int64, replicas, updated, available int32) *appsv1.Deployment {
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Generation: generation},
			Spec:       appsv1.DeploymentSpec{Replicas: new(int32(2))},
			Status: appsv1.DeploymentStatus{
				ObservedGeneration: observed, Replicas: replicas, UpdatedReplicas: updated, AvailableReplicas: available,
			},
		}
	}
	for name, test := range map[string]struct {
		deployment *appsv1.Deployment
		done       bool
		says       string
	}{
		"new":          {deployment(1, 0, 0, 0, 0), false, "waiting for the Deployment controller"},
		"not seen yet": {deployment(2, 1, 2, 2, 2), false, "waiting for the Deployment controller"},
		"making pods":  {deployment(2, 2, 2, 1, 2), false, "1 of 2 pods updated"},
		"starting":     {deployment(1, 1, 2, 2, 1), false, "1 of 2 pods ready"},
		"old ones end": {deployment(2, 2, 3, 2, 2), false, "1 old pods are terminating"},
		"done":         {deployment(2, 2, 2, 2, 2), true, "2 of 2 pods ready"},
		"scaled down":  {deployment(3, 3, 2, 2, 2), true, "2 of 2 pods ready"},
	} {
		t.Run(name, func(t *testing.T) {
			if done, says := progress(test.deployment); done != test.done || says != test.says {
				t.Errorf("%v, %q; want %v, %q", done, says, test.done, test.says)
			}
		})
	}
}

func TestProblem(t *testing.T) {
	waiting := func(reason string) corev1.ContainerStatus {
		return corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "m"}}}
	}
	crashed := waiting("CrashLoopBackOff")
	crashed.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 2}
	for name, test := range map[string]struct {
		status           corev1.PodStatus
		reason, says, do string
	}{
		"none":       {corev1.PodStatus{}, "", "", "otherwise"},
		"starting":   {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting("ContainerCreating")}}, "", "", "otherwise"},
		"no image":   {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting("ImagePullBackOff")}}, "ImagePullBackOff", "m", "--image"},
		"it crashes": {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{crashed}}, "CrashLoopBackOff", "m (exit code 2)", "kubectl logs"},
		"no node": {corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "full",
		}}}, "Unschedulable", "full", "No node fits the pod"},
	} {
		t.Run(name, func(t *testing.T) {
			reason, says := problem(&corev1.Pod{Status: test.status})
			if reason != test.reason || says != test.says {
				t.Errorf("%q, %q; want %q, %q", reason, says, test.reason, test.says)
			}
			if do := remedy(reason, "otherwise"); !strings.Contains(do, test.do) {
				t.Errorf("remedy %q, want %q in it", do, test.do)
			}
		})
	}
}

// TestPartsOfAPlan checks what is removed with the rest, and that the Namespace is not.
func TestPartsOfAPlan(t *testing.T) {
	objects, err := config.Hub.Install(config.Installation{})
	if err != nil {
		t.Fatal(err)
	}
	plan := Plan{Objects: objects, DryRun: true}
	got := map[string]int{}
	for name, part := range map[string]Plan{
		"deployments": plan.Deployments(), "surroundings": plan.Surroundings(), "definitions": plan.Definitions(),
	} {
		got[name] = len(part.Objects)
		if !part.DryRun {
			t.Errorf("the %s are no dry run", name)
		}
		for _, o := range part.Objects {
			if o.GetKind() == kindNamespace {
				t.Errorf("the namespace is among the %s", name)
			}
		}
	}
	want := map[string]int{"deployments": 1, "surroundings": len(objects) - 8, "definitions": 6}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

func TestListOfADefinition(t *testing.T) {
	definition, err := config.Definition("mysql.example.com", "mysqlclusters")
	if err != nil {
		t.Fatal(err)
	}
	list, err := listOf(definition)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := list.GroupVersionKind().String(), "mysql.example.com/v1, Kind=MySQLClusterList"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestCondition(t *testing.T) {
	o := object("apiextensions.k8s.io/v1", kindDefinition, "a")
	if is, why := condition(o, "Established"); is || why == "" {
		t.Errorf("without a status: %v, %q", is, why)
	}
	o.Object["status"] = map[string]any{"conditions": []any{
		map[string]any{"type": "NamesAccepted", "status": "False", "message": "taken"},
		map[string]any{"type": "Established", "status": "True"},
	}}
	if is, _ := condition(o, "Established"); !is {
		t.Error("established, and not seen")
	}
	if is, why := condition(o, "NamesAccepted"); is || why != "taken" {
		t.Errorf("%v, %q; want the condition's message", is, why)
	}
}

// TestDeletion: an installation may follow at once, so that only Deployments are left to the
// garbage collector.
func TestDeletion(t *testing.T) {
	for kind, want := range map[string]metav1.DeletionPropagation{
		"Deployment":     metav1.DeletePropagationForeground,
		"ServiceAccount": metav1.DeletePropagationBackground,
		"ClusterRole":    metav1.DeletePropagationBackground,
	} {
		options := &client.DeleteOptions{}
		options.ApplyOptions(Plan{DryRun: true}.deletion(object("v1", kind, "a")))
		if options.PropagationPolicy == nil || *options.PropagationPolicy != want || len(options.DryRun) == 0 {
			t.Errorf("a %s is deleted with %+v, want the policy %s in a dry run", kind, options, want)
		}
	}
}
