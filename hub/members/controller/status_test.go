package controller

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members"
)

func at(second int) time.Time { return time.Date(2030, 1, 1, 0, 0, second, 0, time.UTC) }

func stamp(second int) *metav1.Time { return &metav1.Time{Time: at(second)} }

func is(status metav1.ConditionStatus, reason string) members.Condition {
	return members.Condition{Status: status, Reason: reason, Message: "about " + reason}
}

func connected() members.State {
	return members.State{
		Conditions: members.Conditions{
			Ready:            is(metav1.ConditionTrue, v1.ReasonConnected),
			Connected:        is(metav1.ConditionTrue, v1.ReasonConnected),
			Authorized:       is(metav1.ConditionTrue, v1.ReasonAuthorized),
			IdentityVerified: is(metav1.ConditionTrue, v1.ReasonVerified),
			CredentialsValid: is(metav1.ConditionTrue, v1.ReasonValid),
		},
		Info: members.Info{
			Version: "v1.36.3", AgentVersion: "v1.2.3", UID: "u", Provider: v1.ProviderAWS, Region: "eu-west-1", Zones: []string{"a", "b"},
			Nodes: 3, ReadyNodes: 2, Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8")},
			Capabilities: []string{"ingress"}, CredentialsExpireAt: at(59).Add(time.Hour),
		},
		LastProbe: at(10).Add(300 * time.Millisecond), Engaged: true, Known: true,
	}
}

func connecting() members.State {
	s := members.State{}
	s.Ready, s.Connected = is(metav1.ConditionUnknown, v1.ReasonConnecting), is(metav1.ConditionUnknown, v1.ReasonConnecting)
	s.Authorized, s.IdentityVerified = is(metav1.ConditionUnknown, v1.ReasonNotChecked), is(metav1.ConditionUnknown, v1.ReasonNotChecked)
	s.CredentialsValid = is(metav1.ConditionUnknown, v1.ReasonNotChecked)
	return s
}

func lost() members.State {
	s := connected()
	s.Ready, s.Connected = is(metav1.ConditionFalse, v1.ReasonProbeFailed), is(metav1.ConditionFalse, v1.ReasonProbeFailed)
	s.Engaged = false
	return s
}

func member(status v1.MemberClusterStatus, spec v1.MemberClusterSpec) *v1.MemberCluster {
	return &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu", Generation: 4}, Spec: spec, Status: status}
}

// after returns the status of a new member with a state.
func after(s members.State) v1.MemberClusterStatus {
	return decide(facts{cluster: member(v1.MemberClusterStatus{}, v1.MemberClusterSpec{}), secret: "eu", registered: true, state: s, apps: 2, now: at(20)})
}

func TestDecideConnected(t *testing.T) {
	got := after(connected())
	ready := func(kind, reason string) metav1.Condition {
		return metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: "about " + reason,
			ObservedGeneration: 4, LastTransitionTime: *stamp(20),
		}
	}
	want := v1.MemberClusterStatus{
		Conditions: []metav1.Condition{
			ready(v1.ConditionReady, v1.ReasonConnected), ready(v1.ConditionConnected, v1.ReasonConnected),
			ready(v1.ConditionAuthorized, v1.ReasonAuthorized), ready(v1.ConditionIdentityVerified, v1.ReasonVerified),
			ready(v1.ConditionCredentialsValid, v1.ReasonValid),
		},
		ObservedGeneration: 4, KubernetesVersion: "v1.36.3", AgentVersion: "v1.2.3", ClusterUID: "u", Provider: v1.ProviderAWS, Region: "eu-west-1",
		Zones: []string{"a", "b"}, Nodes: 3, ReadyNodes: 2,
		Allocatable:  v1.ResourceList{v1.ResourceCPU: resource.MustParse("8")},
		Capabilities: []string{"ingress"}, CredentialsExpirationTime: &metav1.Time{Time: at(59).Add(time.Hour)},
		LastObservedTime: stamp(10), Apps: 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// change goes from one status to the next, and says what differs.
type change struct {
	last       v1.MemberClusterStatus
	spec       v1.MemberClusterSpec
	state      func(*members.State)
	base       members.State
	detached   bool
	apps       int32
	want       func(*v1.MemberClusterStatus) // changes to last
	ready      string
	transition *metav1.Time // of Ready
}

// TestTaints checks that the status has, and keeps, the time at which a NoExecute taint was added.
func TestTaints(t *testing.T) {
	spec := v1.MemberClusterSpec{Taints: []v1.Taint{
		{Key: "kept", Value: "v", Effect: v1.TaintNoExecute}, {Key: "changed", Value: "new", Effect: v1.TaintNoExecute}, {Key: "other", Effect: v1.TaintNoSchedule},
	}}
	last := v1.MemberClusterStatus{Taints: []v1.TaintStatus{
		{Key: "kept", Value: "v", AddedTime: *stamp(3)}, {Key: "changed", Value: "old", AddedTime: *stamp(3)}, {Key: "gone", AddedTime: *stamp(3)},
	}}
	got := decide(facts{cluster: member(last, spec), secret: "eu", registered: true, state: connected(), now: at(20)}).Taints
	want := []v1.TaintStatus{{Key: "kept", Value: "v", AddedTime: *stamp(3)}, {Key: "changed", Value: "new", AddedTime: *stamp(20)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
}

// TestRequested checks that what pods request is written when it appears, disappears or differs by more than 5 % of
// what is allocatable from what is written, which many small changes add up to.
func TestRequested(t *testing.T) {
	list := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	}
	allocatable := list("10", "100Gi")
	for name, tt := range map[string]struct {
		last, listed corev1.ResourceList
		unlisted     bool
		allocatable  corev1.ResourceList
		want         corev1.ResourceList
	}{
		"appears":                  {listed: list("1", "1Gi"), allocatable: allocatable, want: list("1", "1Gi")},
		"must not be listed":       {last: list("1", "1Gi"), allocatable: allocatable},
		"not listed since a start": {last: list("1", "1Gi"), unlisted: true, allocatable: allocatable, want: list("1", "1Gi")},
		"5 % more":                 {last: list("1", "10Gi"), listed: list("1500m", "15Gi"), allocatable: allocatable, want: list("1", "10Gi")},
		"more cpu":                 {last: list("1", "10Gi"), listed: list("1501m", "10Gi"), allocatable: allocatable, want: list("1501m", "10Gi")},
		"less memory":              {last: list("1", "10Gi"), listed: list("900m", "4Gi"), allocatable: allocatable, want: list("900m", "4Gi")},
		"without ready nodes":      {last: list("1", "10Gi"), listed: list("5", "4Gi"), want: list("1", "10Gi")},
	} {
		t.Run(name, func(t *testing.T) {
			got := requested(resourceList(tt.last), &members.Info{Requested: tt.listed, PodsListed: !tt.unlisted, Allocatable: tt.allocatable})
			if diff := cmp.Diff(resourceList(tt.want), got); diff != "" {
				t.Errorf("requested (-want +got):\n%s", diff)
			}
		})
	}
	// The status of a member is written when it differs: count the writes of a cluster that fills slowly.
	state, status, writes := connected(), after(connected()), 0
	state.Info.PodsListed, state.Info.Allocatable = true, allocatable
	status.Allocatable = resourceList(allocatable)
	for n := range 100 {
		state.Info.Requested = list(fmt.Sprintf("%dm", 1000+20*n), "1Gi")
		next := decide(facts{cluster: member(status, v1.MemberClusterSpec{}), secret: "eu", registered: true, state: state, apps: 2, now: at(50)})
		if !equality.Semantic.DeepEqual(status, next) {
			writes++
		}
		status = next
	}
	if writes != 4 { // It appears, and exceeds 1.5, 2 and 2.5 cores.
		t.Errorf("%d writes while 2 of 10 cores are requested in steps of 0.02, want 4", writes)
	}
}

func TestDecideChanges(t *testing.T) {
	good := after(connected())
	tests := map[string]change{
		"nothing": {last: good, base: connected(), apps: 2, ready: v1.ReasonConnected},
		"only a later probe": {
			last: good, base: connected(), apps: 2, ready: v1.ReasonConnected,
			state: func(s *members.State) { s.LastProbe = at(40) },
		},
		"an agent that is silent": {
			last: good, base: connected(), apps: 2, ready: v1.ReasonAgentSilent, transition: stamp(50),
			state: func(s *members.State) {
				s.LastProbe, s.AgentLastSeen = at(48), at(5)
				s.Ready = is(metav1.ConditionFalse, v1.ReasonAgentSilent)
				s.AgentReady = s.Ready
			},
			want: func(s *v1.MemberClusterStatus) {
				s.LastObservedTime = stamp(5)
				s.Conditions = append(s.Conditions, metav1.Condition{
					Type: v1.ConditionAgentReady, Status: metav1.ConditionFalse, Reason: v1.ReasonAgentSilent,
					Message: "about AgentSilent", ObservedGeneration: 4, LastTransitionTime: *stamp(50),
				})
			},
		},
		"a node more": {
			last: good, base: connected(), apps: 2, ready: v1.ReasonConnected,
			state: func(s *members.State) { s.LastProbe, s.Info.Nodes = at(40), 4 },
			want:  func(s *v1.MemberClusterStatus) { s.Nodes, s.LastObservedTime = 4, stamp(40) },
		},
		"expiring credentials, and a handled request": {
			last: good, base: connected(), apps: 2, ready: v1.ReasonConnected,
			state: func(s *members.State) {
				s.CredentialsRenewed = is(metav1.ConditionFalse, v1.ReasonExpiring)
				s.HandledRenewRequest = "now"
			},
			want: func(s *v1.MemberClusterStatus) { s.LastHandledRenewAt = "now" },
		},
		"no nodes any more": {
			last: good, base: connected(), apps: 2, ready: v1.ReasonConnected,
			state: func(s *members.State) {
				s.Info.Nodes, s.Info.ReadyNodes, s.Info.Provider, s.Info.Region, s.Info.Zones, s.Info.Allocatable = 0, 0, "", "", nil, nil
			},
			want: func(s *v1.MemberClusterStatus) { s.Nodes, s.ReadyNodes, s.Zones, s.Allocatable = 0, 0, nil, nil },
		},
		"most nodes are of another provider and region": {
			last: good, base: connected(), apps: 2, ready: v1.ReasonConnected,
			state: func(s *members.State) { s.Info.Provider, s.Info.Region = v1.ProviderOther, "eu-west-2" },
		},
		"lost": {
			last: good, base: lost(), apps: 2, ready: v1.ReasonProbeFailed, transition: stamp(50),
			state: func(s *members.State) { s.LastProbe = at(35) },
			want:  func(s *v1.MemberClusterStatus) { s.LastObservedTime = stamp(35) },
		},
	}
	for name, test := range tests {
		t.Run(name, test.check)
	}
}

func TestDecideRestartsAndDetachments(t *testing.T) {
	good := after(connected())
	gone := decide(facts{cluster: member(good, v1.MemberClusterSpec{}), secret: "eu", now: at(30)})
	tests := map[string]change{
		"a restart, not connected yet": {last: good, base: connecting(), apps: 2, ready: v1.ReasonConnected},
		"a restart, and an application less": {
			last: good, base: connecting(), apps: 1, ready: v1.ReasonConnected,
			want: func(s *v1.MemberClusterStatus) { s.Apps = 1 },
		},
		"a restart, and no answer": {
			last: good, base: connecting(), apps: 2, ready: v1.ReasonProbeFailed, transition: stamp(50),
			state: func(s *members.State) {
				s.Known = true
				s.Ready, s.Connected = is(metav1.ConditionFalse, v1.ReasonProbeFailed), is(metav1.ConditionFalse, v1.ReasonProbeFailed)
				s.Authorized, s.IdentityVerified, s.CredentialsValid = connected().Authorized, connected().IdentityVerified, connected().CredentialsValid
			},
		},
		"detached": {
			last: good, detached: true, ready: v1.ReasonSecretNotFound, transition: stamp(50), apps: 2,
		},
		"detached for longer":        {last: gone, detached: true, ready: v1.ReasonSecretNotFound},
		"registered again":           {last: gone, base: connecting(), ready: v1.ReasonConnecting, transition: stamp(50), want: ignoreRest},
		"connected after detachment": {last: gone, base: connected(), ready: v1.ReasonConnected, transition: stamp(50), want: ignoreRest},
		"given region and provider": {
			last: good, base: connected(), apps: 2, ready: v1.ReasonConnected,
			spec: v1.MemberClusterSpec{Provider: v1.ProviderOther, Region: "cellar"},
			want: func(s *v1.MemberClusterStatus) { s.Provider, s.Region = v1.ProviderOther, "cellar" },
		},
		"another UID is not taken": {
			last: good, base: connected(), apps: 2, ready: v1.ReasonConnected,
			state: func(s *members.State) { s.Info.UID = "other" },
		},
	}
	for name, test := range tests {
		t.Run(name, test.check)
	}
}

// TestRestrictedStays checks that a hub that does not know yet whether its account is restricted keeps what was found
// before its start.
func TestRestrictedStays(t *testing.T) {
	found := connected()
	found.AccountRestricted = is(metav1.ConditionTrue, v1.ReasonPoliciesInForce)
	want := after(found)
	got := decide(facts{cluster: member(want, v1.MemberClusterSpec{}), secret: "eu", registered: true, state: connected(), apps: 2, now: at(50)})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func (c change) check(t *testing.T) {
	t.Helper()
	if c.state != nil {
		c.state(&c.base)
	}
	before := c.last.DeepCopy()
	got := decide(facts{
		cluster: member(c.last, c.spec), secret: "eu", registered: !c.detached, state: c.base, apps: c.apps, now: at(50),
	})
	if diff := cmp.Diff(*before, c.last); diff != "" {
		t.Errorf("decide changed what it was given:\n%s", diff)
	}
	want := *before
	if c.want != nil {
		c.want(&want)
	}
	if want.Nodes != irrelevant {
		if diff := cmp.Diff(withoutConditions(want), withoutConditions(got)); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}
	}
	ready := meta.FindStatusCondition(got.Conditions, v1.ConditionReady)
	if ready.Reason != c.ready {
		t.Errorf("Ready is %+v, want reason %s", ready, c.ready)
	}
	if c.transition != nil && !ready.LastTransitionTime.Equal(c.transition) {
		t.Errorf("Ready since %s, want %s", ready.LastTransitionTime, c.transition)
	}
}

const irrelevant = -1

func ignoreRest(s *v1.MemberClusterStatus) { s.Nodes = irrelevant }

func withoutConditions(s v1.MemberClusterStatus) v1.MemberClusterStatus {
	s.Conditions = nil
	return s
}

func TestDetachKeepsWhatIsKnown(t *testing.T) {
	good := after(connected())
	got := decide(facts{cluster: member(good, v1.MemberClusterSpec{}), secret: "eu-secret", now: at(30)})
	ready := meta.FindStatusCondition(got.Conditions, v1.ConditionReady)
	want := `the hub's namespace has no Secret "eu-secret" with the label ecommerce.io/member-cluster: "true"`
	if ready.Message != want {
		t.Errorf("message %q, want %q", ready.Message, want)
	}
	if got.ClusterUID != "u" || got.Region != "eu-west-1" || !got.LastObservedTime.Equal(good.LastObservedTime) {
		t.Errorf("forgotten: %+v", got)
	}
}

func TestTransitions(t *testing.T) {
	empty, good, bad := v1.MemberClusterStatus{}, after(connected()), after(lost())
	starting := after(connecting())
	refused := connected()
	refused.CredentialsValid = is(metav1.ConditionFalse, v1.ReasonUnauthorized)
	rotated := after(refused)
	awaited := connected()
	awaited.AgentReady = is(metav1.ConditionFalse, v1.ReasonAgentMissing)
	silent := connected()
	silent.Ready = is(metav1.ConditionFalse, v1.ReasonAgentSilent)
	silent.AgentReady = silent.Ready
	expiring := connected()
	expiring.CredentialsRenewed = is(metav1.ConditionFalse, v1.ReasonExpiring)
	denied := lost()
	denied.CredentialsRenewed = is(metav1.ConditionFalse, v1.ReasonRenewalDenied)
	renewed := connected()
	renewed.CredentialsRenewed = is(metav1.ConditionTrue, v1.ReasonNotDue)
	unauthorized := lost()
	unauthorized.Ready = is(metav1.ConditionFalse, v1.ReasonUnauthorized)
	tests := map[string]struct {
		before, after v1.MemberClusterStatus
		want          []string
	}{
		"first sight":         {empty, starting, nil},
		"connected":           {starting, good, []string{"Normal Connected"}},
		"nothing":             {good, good, nil},
		"lost":                {good, bad, []string{"Warning Disconnected"}},
		"never connected":     {starting, bad, []string{"Warning NotReady"}},
		"still not":           {bad, bad, nil},
		"for another reason":  {bad, after(unauthorized), []string{"Warning NotReady"}},
		"a bad rotation":      {good, rotated, []string{"Warning CredentialsRefused"}},
		"the rotation mended": {rotated, good, nil},
		"no agent to go to":   {good, after(awaited), []string{"Warning AgentNotReady"}},
		"expiring":            {good, after(expiring), []string{"Warning CredentialsExpiring"}},
		"still expiring":      {after(expiring), after(expiring), nil},
		"renewed":             {after(expiring), after(renewed), nil},
		"lost and denied":     {good, after(denied), []string{"Warning Disconnected", "Warning RenewalDenied"}},
		"a silent agent":      {good, after(silent), []string{"Warning Disconnected"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, h := range transitions(&test.before, &test.after) {
				got = append(got, h.kind+" "+h.reason)
				if h.note == "" || h.action == "" {
					t.Errorf("event says nothing: %+v", h)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}
