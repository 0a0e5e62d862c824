package controller

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// placed makes an application of the hub that is observed and lists clusters.
func placed(clusters ...string) *v1.EcommerceApp {
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{UID: "u"}}
	app.Status.ObservedGeneration = 1
	for _, name := range clusters {
		app.Status.Clusters = append(app.Status.Clusters, v1.ClusterStatus{Name: name})
	}
	return app
}

func TestOrphaned(t *testing.T) {
	t.Parallel()
	object := func(uid string, labels map[string]string) *v1.EcommerceApp {
		app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
		if uid != "" {
			app.Annotations = map[string]string{v1.HubAppUIDAnnotation: uid}
		}
		return app
	}
	ours := map[string]string{v1.ManagedByLabel: v1.ManagedBy}
	waiting := placed("eu")
	waiting.Status.Clusters[0].UnknownOrigin = "old/0"
	wiped := placed("eu")
	wiped.Status = v1.EcommerceAppStatus{}
	for name, tt := range map[string]struct {
		copied, app *v1.EcommerceApp
		want        bool
	}{
		"a copy of nothing":                    {object("u", ours), nil, true},
		"a copy of nothing that lost its UID":  {object("", ours), nil, true},
		"a copy of nothing without our label":  {object("u", nil), nil, true},
		"a copy that is listed":                {object("u", ours), placed("eu"), false},
		"a copy that lost its UID, listed":     {object("", ours), placed("eu"), false},
		"a copy of an earlier application":     {object("old", ours), placed("eu"), true},
		"an earlier one's that waits":          {object("old", ours), waiting, false},
		"another one's than waits":             {object("older", ours), waiting, true},
		"a copy that is listed elsewhere":      {object("u", ours), placed("us"), true},
		"a copy of a status that was wiped":    {object("u", ours), wiped, false},
		"an earlier one's, the status is gone": {object("old", ours), wiped, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := orphaned(tt.copied, tt.app, "eu"); got != tt.want {
				t.Errorf("orphaned: %t, want %t", got, tt.want)
			}
		})
	}
}

func TestDecideOrphans(t *testing.T) {
	t.Parallel()
	last := after(connected())
	last.OrphanCount = 3
	for name, tt := range map[string]struct {
		facts facts
		want  int32
	}{
		"counted":                 {facts{registered: true, state: connected(), orphans: new(int32(1))}, 1},
		"counted none":            {facts{registered: true, state: connected(), orphans: new(int32(0))}, 0},
		"the member is lost":      {facts{registered: true, state: lost()}, 3},
		"the hub has just begun":  {facts{registered: true, state: connecting()}, 3},
		"counted before it knows": {facts{registered: true, state: connecting(), orphans: new(int32(2))}, 2},
		"detached":                {facts{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.facts.cluster, tt.facts.now = member(last, v1.MemberClusterSpec{}), at(30)
			if got := decide(tt.facts).OrphanCount; got != tt.want {
				t.Errorf("orphanCount is %d, want %d", got, tt.want)
			}
		})
	}
}
