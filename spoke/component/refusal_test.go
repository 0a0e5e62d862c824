package component_test

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

const (
	refused       = "the cluster rejects the creation of pods: "
	mustSpecify   = `create Pod app-database-0 in StatefulSet app-database failed error: pods "app-database-0" is forbidden: failed quota: limits: must specify limits.memory for: database,prepare`
	wantSpecify   = refused + "failed quota: limits: must specify limits.memory for: database,prepare"
	unknownClass  = `storageclass.storage.k8s.io "nope" not found`
	wantNoVolume  = "claim data-app-database-0 gets no volume: "
	exceededQuota = `exceeded quota: five-pods, requested: pods=1, used: pods=5, limited: pods=5`
)

// warning returns a Warning event about an object, last recorded so many minutes before minute 10.
func warning(about component.Resource, reason, message string, ago int) corev1.Event {
	return corev1.Event{
		InvolvedObject: corev1.ObjectReference{Kind: about.GetObjectKind().GroupVersionKind().Kind, Name: about.GetName(), UID: about.GetUID()},
		Type:           corev1.EventTypeWarning, Reason: reason, Message: message, LastTimestamp: metav1.NewTime(at(10).Add(-time.Duration(ago) * time.Minute)),
	}
}

// TestExplainByEvents covers the causes that Kubernetes tells by events alone.
func TestExplainByEvents(t *testing.T) {
	t.Parallel()
	set, unbound := statefulSet("database", 1, 0), claim("data-app-database-0", "10Gi", corev1.ClaimPending)
	set.UID, unbound.UID = "set", "claim"
	waiting := live(set, unbound)
	full := `failed to provision volume with StorageClass "fast": rpc error: code = ResourceExhausted desc = pool is full, RequestID: 0f7a1b2c-1111-2222-3333-444455556666`
	for name, tt := range map[string]struct {
		live            component.Live
		events          []corev1.Event
		pods            []*corev1.Pod
		reason, message string
	}{
		"quota without limits": {waiting, []corev1.Event{warning(set, "FailedCreate", mustSpecify, 1)}, nil, v1.ReasonFailedCreate, wantSpecify},
		"quota that is used up": {waiting, []corev1.Event{warning(set, "FailedCreate", `create Pod app-database-0 in StatefulSet app-database failed error: pods "app-database-0" is forbidden: `+exceededQuota, 1)}, nil,
			v1.ReasonFailedCreate, refused + "exceeded quota: five-pods, requested: pods=1, limited: pods=5"},
		"LimitRange": {waiting, []corev1.Event{warning(set, "FailedCreate", `create Pod app-database-0 in StatefulSet app-database failed error: pods "app-database-0" is forbidden: maximum memory usage per Container is 1Gi, but limit is 2Gi`, 1)}, nil,
			v1.ReasonFailedCreate, refused + "maximum memory usage per Container is 1Gi, but limit is 2Gi"},
		"Pod Security": {waiting, []corev1.Event{warning(set, "FailedCreate", `create Pod app-database-0 in StatefulSet app-database failed error: pods "app-database-0" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true (pod or container "database" must set securityContext.runAsNonRoot=true)`, 1)}, nil,
			v1.ReasonFailedCreate, refused + `violates PodSecurity "restricted:latest": runAsNonRoot != true (pod or container "database" must set securityContext.runAsNonRoot=true)`},
		"webhook that denies": {waiting, []corev1.Event{warning(set, "FailedCreate", `create Pod app-database-0 in StatefulSet app-database failed error: admission webhook "policy.example.com" denied the request: no`, 1)}, nil,
			v1.ReasonFailedCreate, refused + `admission webhook "policy.example.com" denied the request: no`},
		"webhook that is away": {waiting, []corev1.Event{warning(set, "FailedCreate", `(combined from similar events): create Pod app-database-0 in StatefulSet app-database failed error: Internal error occurred: failed calling webhook "a": Post "https://a.b.svc:443/?timeout=10s": dial tcp 10.1.2.3:443: connect: connection refused`, 1)}, nil,
			v1.ReasonFailedCreate, refused + `Internal error occurred: failed calling webhook "a": dial tcp (address): connect: connection refused`},
		"quota for storage": {live(set), []corev1.Event{warning(set, "FailedCreate", `create Claim data-app-database-0 for Pod app-database-0 in StatefulSet app-database failed error: persistentvolumeclaims "data-app-database-0" is forbidden: exceeded quota: disk, requested: requests.storage=10Gi, used: requests.storage=5Gi, limited: requests.storage=12Gi`, 1)}, nil,
			v1.ReasonFailedCreate, refused + "exceeded quota: disk, requested: requests.storage=10Gi, limited: requests.storage=12Gi"},
		"missing class": {waiting, []corev1.Event{warning(unbound, "ProvisioningFailed", unknownClass, 1)}, nil, v1.ReasonProvisioningFailed, wantNoVolume + unknownClass},
		"full pool": {waiting, []corev1.Event{warning(unbound, "ProvisioningFailed", full, 1)}, nil, v1.ReasonProvisioningFailed,
			wantNoVolume + `failed to provision volume with StorageClass "fast": rpc error: code = ResourceExhausted desc = pool is full, RequestID: (ID)`},
		"pod that waits for the class": {
			waiting, []corev1.Event{warning(unbound, "ProvisioningFailed", unknownClass, 1)},
			[]*corev1.Pod{pod("a", unschedulable("0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims."))}, v1.ReasonProvisioningFailed, wantNoVolume + unknownClass,
		},
		"refused, and no class":      {waiting, []corev1.Event{warning(unbound, "ProvisioningFailed", unknownClass, 1), warning(set, "FailedCreate", mustSpecify, 2)}, nil, v1.ReasonFailedCreate, wantSpecify},
		"the later cause":            {waiting, []corev1.Event{warning(set, "FailedCreate", "z", 3), warning(set, "FailedCreate", mustSpecify, 2), warning(set, "FailedCreate", "a", 4)}, nil, v1.ReasonFailedCreate, wantSpecify},
		"a claim that cannot grow":   {live(statefulSet("database", 1, 1), claim("data-app-database-0", "5Gi", corev1.ClaimBound)), []corev1.Event{warning(claim("data-app-database-0", "5Gi", ""), "VolumeResizeFailed", "pool is full", 1)}, []*corev1.Pod{pod("a")}, v1.ReasonProvisioningFailed, "claim data-app-database-0 does not grow: pool is full"},
		"an hour ago":                {waiting, []corev1.Event{warning(set, "FailedCreate", mustSpecify, 60), warning(unbound, "ProvisioningFailed", unknownClass, 60)}, nil, "", ""},
		"of its predecessor":         {waiting, []corev1.Event{warning(statefulSet("database", 1, 0), "FailedCreate", mustSpecify, 1)}, nil, "", ""},
		"of another":                 {waiting, []corev1.Event{warning(statefulSet("other", 1, 0), "FailedCreate", mustSpecify, 1)}, nil, "", ""},
		"something else":             {waiting, []corev1.Event{warning(set, "FailedDelete", mustSpecify, 1)}, nil, "", ""},
		"the pod was created since":  {waiting, []corev1.Event{warning(set, "FailedCreate", mustSpecify, 1)}, []*corev1.Pod{pod("a")}, "", ""},
		"the volume was made since":  {live(set, claim("data-app-database-0", "10Gi", corev1.ClaimBound)), []corev1.Event{warning(unbound, "ProvisioningFailed", unknownClass, 1)}, nil, "", ""},
		"nothing is said":            {waiting, nil, nil, "", ""},
		"the application is too new": {live(), []corev1.Event{warning(set, "FailedCreate", mustSpecify, 1)}, nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := component.Evidence{Warnings: tt.events, Live: tt.live, Now: at(10).Time}
			for _, p := range tt.pods {
				e.Pods = append(e.Pods, *p)
			}
			got, found := component.Explain(part("database", nil, statefulSet("database", 1, 0)), component.State{Name: "database"}, e)
			if found != (tt.reason != "") || got.Reason != tt.reason || got.Message != tt.message {
				t.Errorf("got  %t %s %q\nwant %s %q", found, got.Reason, got.Message, tt.reason, tt.message)
			}
			if found && (!got.Optional || !got.Explains || got.Component != "database") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestRefusedDeployment checks that the Deployment's own condition explains refused pods at once, without the parts
// that differ between attempts.
func TestRefusedDeployment(t *testing.T) {
	t.Parallel()
	says := func(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) {
			d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{Type: kind, Status: status, Reason: reason, Message: message})
		}
	}
	quota := func(used string) func(*appsv1.Deployment) {
		return says(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "FailedCreate", `pods "app-web-7d9f8c9b5d-x`+used+`" is forbidden: `+strings.ReplaceAll(exceededQuota, "used: pods=5", "used: pods="+used))
	}
	const cause = refused + "exceeded quota: five-pods, requested: pods=1, limited: pods=5"
	for name, tt := range map[string]struct {
		live            *appsv1.Deployment
		reason, message string
	}{
		"few pods":  {deployment("web", 3, 1, quota("5")), v1.ReasonFailedCreate, "1 of 3 replicas are ready; " + cause},
		"again":     {deployment("web", 3, 1, quota("4")), v1.ReasonFailedCreate, "1 of 3 replicas are ready; " + cause},
		"new pods":  {deployment("web", 3, 3, quota("5"), func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 0 }), v1.ReasonFailedCreate, "0 of 3 replicas are updated; " + cause},
		"too long":  {deployment("web", 3, 1, quota("5"), says(appsv1.DeploymentProgressing, corev1.ConditionFalse, "ProgressDeadlineExceeded", "")), v1.ReasonDeadlineExceeded, "Deployment app-web made no progress within its deadline: 1 of 3 replicas are ready; " + cause},
		"no set":    {deployment("web", 3, 1, says(appsv1.DeploymentProgressing, corev1.ConditionFalse, "ReplicaSetCreateError", `Failed to create new replica set "app-web-7d9f8c9b5d": replicasets.apps "app-web-7d9f8c9b5d" is forbidden: exceeded quota: sets`)), v1.ReasonFailedCreate, `1 of 3 replicas are ready; ` + refused + `exceeded quota: sets`},
		"no longer": {deployment("web", 3, 1, says(appsv1.DeploymentReplicaFailure, corev1.ConditionFalse, "", exceededQuota)), v1.ReasonWaitingForReplicas, "1 of 3 replicas are ready"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := part("web", nil, deployment("web", 3, 0))
			state := component.Observe(c, live(tt.live), true)
			if state.Reason != tt.reason || state.Message != tt.message {
				t.Errorf("got  %s %q\nwant %s %q", state.Reason, state.Message, tt.reason, tt.message)
			}
			p, found := component.Explain(c, state, component.Evidence{Live: live(tt.live), Now: at(10).Time})
			if found != strings.Contains(tt.message, refused) || found && p.Reason != v1.ReasonFailedCreate {
				t.Errorf("explained: %t by %+v", found, p)
			}
			if !found {
				return
			}
			in := component.SummaryInput{Generation: 1, States: []component.State{state}, Problems: []component.Problem{p}, Now: at(10)}
			if got := component.Summarize(in).States[0]; got.Message != tt.message {
				t.Errorf("the cause is said twice: %q", got.Message)
			}
		})
	}
}

// TestEventsOutrankClaims checks that a claim that waits for its first pod is not the cause.
func TestEventsOutrankClaims(t *testing.T) {
	t.Parallel()
	unbound := live(statefulSet("database", 1, 0), claim("data-app-database-0", "10Gi", corev1.ClaimPending))
	state := component.Observe(part("database", nil, statefulSet("database", 1, 0)), unbound, false)
	if state.Reason != v1.ReasonWaitingForStorage {
		t.Fatalf("got %+v", state)
	}
	if waits, _, ok := component.WaitsForPods(nil, 1, []component.State{state}, at(10).Time); !ok || waits.Name != "database" {
		t.Errorf("pods are not read while a claim is not bound")
	}
	for name, tt := range map[string]struct{ reason, message, wantReason, wantMessage string }{
		"refused":       {v1.ReasonFailedCreate, wantSpecify, v1.ReasonFailedCreate, wantSpecify},
		"missing class": {v1.ReasonProvisioningFailed, wantNoVolume + unknownClass, v1.ReasonProvisioningFailed, wantNoVolume + unknownClass},
		"no node fits":  {v1.ReasonUnschedulable, "no node fits: Insufficient cpu", v1.ReasonUnschedulable, "claim data-app-database-0 is not bound; no node fits: Insufficient cpu"},
		"no Secret":     {v1.ReasonMissing, "Secret a does not exist", v1.ReasonWaitingForStorage, "claim data-app-database-0 is not bound; Secret a does not exist"},
	} {
		problem := component.Problem{Component: "database", Reason: tt.reason, Message: tt.message, Optional: true, Explains: true}
		summary := component.Summarize(component.SummaryInput{Generation: 1, States: []component.State{state}, Problems: []component.Problem{problem}, Now: at(10)})
		if got := summary.States[0]; got.Reason != tt.wantReason || got.Message != tt.wantMessage || summary.Phase != v1.PhaseCreating {
			t.Errorf("%s: %s %s %q, want %s %q", name, summary.Phase, got.Reason, got.Message, tt.wantReason, tt.wantMessage)
		}
	}
}
