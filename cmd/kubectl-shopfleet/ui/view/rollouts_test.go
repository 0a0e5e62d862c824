package view

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/hubstate"
)

// TestTemplatesTurns: how far a version of the pod templates is in a cluster, by what the hub knows of its pods.
func TestTemplatesTurns(t *testing.T) {
	ready := metav1.NewTime(now().Add(-20 * time.Second))
	updating := []v1.ClusterUpdate{{Name: "a", ReadyTime: &ready}}
	for name, tt := range map[string]struct {
		entry    v1.ClusterStatus
		updating []v1.ClusterUpdate
		want     Turn
	}{
		"has it":                        {v1.ClusterStatus{RenderingVersion: "2"}, nil, Turn{State: "updated", Has: "version 2"}},
		"replaces pods":                 {v1.ClusterStatus{RenderingVersion: "2", HeldTemplates: true}, updating, Turn{State: "updating", Has: "version 2", Note: "healthy for 20s of 60s"}},
		"replaces pods, not waited for": {v1.ClusterStatus{RenderingVersion: "2", HeldTemplates: true}, nil, Turn{State: "updating", Has: "version 2", Note: "and not waited for"}},
		"waits":                         {v1.ClusterStatus{RenderingVersion: "1", HeldTemplates: true}, nil, Turn{State: "waiting", Has: "version 1", Note: "with pods of an earlier version"}},
		"waits for its first version":   {v1.ClusterStatus{HeldTemplates: true}, nil, Turn{State: "waiting", Note: "with pods of an earlier version"}},
		"is paused":                     {v1.ClusterStatus{HeldTemplates: true, Phase: v1.PhasePaused}, nil, Turn{State: "waiting", Note: "paused, with pods of an earlier version"}},
		"has no pod that waits":         {v1.ClusterStatus{RenderingVersion: "1"}, nil, Turn{State: "unaffected", Has: "version 1", Note: "none of its pods waits for the version"}},
		"does not respond":              {v1.ClusterStatus{RenderingVersion: "2", Stale: true}, updating, Turn{State: "not seen", Has: "version 2", Note: "for an unknown time"}},
	} {
		tt.entry.Name, tt.want.Cluster = "a", "a"
		r := &v1.RolloutStatus{Revision: 2, State: v1.RolloutProgressing, Updating: tt.updating}
		if diff := cmp.Diff(tt.want, templatesTurn(v1.Rollout{}, r, &tt.entry, now())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestTemplatesRemedy: a version of the pod templates that waits for a user says what to type, and one that goes on does not.
func TestTemplatesRemedy(t *testing.T) {
	const approve, resume = "kubectl shopfleet rollout approve shop -n default", "kubectl shopfleet rollout resume shop -n default"
	for name, tt := range map[string]struct {
		state     v1.RolloutState
		change    func(*v1.EcommerceApp)
		want      string
		isCommand bool
	}{
		"goes on":              {v1.RolloutProgressing, nil, "", false},
		"waits for approval":   {v1.RolloutWaitingForApproval, nil, approve, true},
		"waits for a revision": {v1.RolloutPaused, nil, "", false},
		"is paused by a user": {v1.RolloutPaused, func(app *v1.EcommerceApp) {
			app.Annotations = map[string]string{v1.RolloutPausedAnnotation: "true"}
		}, resume, true},
		"waits for a window": {v1.RolloutWaitingForWindow, nil,
			"It goes on when a window begins. Before that, as for a security fix: kubectl shopfleet rollout render-now shop -n default.", false},
		"failed": {v1.RolloutFailed, nil, "Correct what keeps the cluster from being as before: the others follow by themselves. Nothing is taken back.", false},
		"is of a paused application": {v1.RolloutWaitingForApproval, func(app *v1.EcommerceApp) { app.Spec.Paused = true },
			"Set spec.paused of the EcommerceApp or MemberCluster that the message names to false, or end the safe mode of the hub, when the changes are right.", false},
	} {
		app := apitest.App("shop").Namespace("default").Obj()
		app.Spec.Rollout = &v1.Rollout{}
		app.Status.Rendering = &v1.RolloutStatus{Revision: 2, State: tt.state, Region: "eu"}
		if tt.change != nil {
			tt.change(app)
		}
		rollouts := MovingOf(known(hubstate.Snapshot{Apps: []v1.EcommerceApp{*app}}), now()).Rollouts
		if len(rollouts) != 1 || rollouts[0].Remedy != tt.want || rollouts[0].IsCommand != tt.isCommand {
			t.Errorf("%s: %+v, want the remedy %q", name, rollouts, tt.want)
		}
		needs := NeedsOf(known(hubstate.Snapshot{Apps: []v1.EcommerceApp{*app}}), now()).Urgent
		if waits := tt.state == v1.RolloutWaitingForApproval; (len(needs) == 1) != waits || waits && needs[0].First().Remedy != approve {
			t.Errorf("%s: it needs %+v", name, needs)
		}
	}
}

// TestTemplatesWithoutARollout: without spec.rollout one region follows the other by name, each within the default deadline.
func TestTemplatesWithoutARollout(t *testing.T) {
	started := metav1.NewTime(now().Add(-70 * time.Second))
	app := apitest.App("shop").Obj()
	app.Status.Clusters = []v1.ClusterStatus{{Name: "b", Region: "us", HeldTemplates: true}, {Name: "a", Region: "eu", RenderingVersion: "2", HeldTemplates: true}}
	app.Status.Rendering = &v1.RolloutStatus{Revision: 2, State: v1.RolloutProgressing, Region: "eu", Updating: []v1.ClusterUpdate{{Name: "a", StartTime: &started}}}
	want := []Wave{
		{Region: "eu", Current: true, Clusters: []Turn{{Cluster: "a", State: "updating", Has: "version 2", Note: "not healthy yet, for 70s of 10m"}}},
		{Region: "us", Clusters: []Turn{{Cluster: "b", State: "waiting", Note: "with pods of an earlier version"}}},
	}
	rollouts := MovingOf(known(hubstate.Snapshot{Apps: []v1.EcommerceApp{*app}}), now()).Rollouts
	if len(rollouts) != 1 {
		t.Fatalf("rollouts are %+v", rollouts)
	}
	if diff := cmp.Diff(want, rollouts[0].Waves); diff != "" {
		t.Errorf("waves (-want +got):\n%s", diff)
	}
}
