package copies

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// caches are the hub's cache and those of its members.
type caches struct {
	client.Client
	cluster.Cluster
	members []v1.MemberCluster
	copied  *v1.EcommerceApp
}

// List lists the members.
func (c *caches) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	if list, ok := into.(*v1.MemberClusterList); ok {
		list.Items = c.members
	}
	return nil
}

// Get returns the copy of a member, or a member.
func (c *caches) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch o := into.(type) {
	case *v1.EcommerceApp:
		if c.copied == nil {
			return apierrors.NewNotFound(v1.GroupVersion.WithResource("ecommerceapps").GroupResource(), key.Name)
		}
		c.copied.DeepCopyInto(o)
	case *v1.MemberCluster:
		o.Name = key.Name
	}
	return nil
}

// GetClient returns the cache of a member.
func (c *caches) GetClient() client.Client { return c }

func memberIn(name string, ready metav1.ConditionStatus, reason string) v1.MemberCluster {
	m := v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	m.Status.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Status: ready, Reason: reason}}
	return m
}

// createTest is a creation in member a, which has no copy.
type createTest struct {
	// existed means that the hub knows of a copy in a.
	existed bool
	// waiting is the origin that the creation waits for, in a and in the entry of b.
	waiting, inB string
	// entry means that the inventory has b.
	entry bool
	// origin and image are those of the copy in b; it has none without an origin.
	origin, image string
	// away is the reason why b is not engaged; empty if it is.
	away, accepted string
	want, waits    string
}

// errorUnobserved stands for recovery.ErrUnobserved, which is no failure.
const errorUnobserved = "unobserved"

// TestAssessCreation creates the copy in member a, which has none, while b may have a later one.
func TestAssessCreation(t *testing.T) {
	t.Parallel()
	const newer, unobserved = v1.ReasonNewerElsewhere, errorUnobserved
	for name, tt := range map[string]createTest{
		"nothing elsewhere":                        {existed: true},
		"a later copy without an entry":            {existed: true, origin: "9", want: newer, waits: "u-1/9"},
		"a later copy with this spec, moved there": {existed: true, origin: "9", image: "shop:v2", want: newer, waits: "u-1/9"},
		"a later copy with an entry":               {existed: true, entry: true, origin: "9", want: newer, waits: "u-1/9"},
		"a later copy with this spec, and entry":   {existed: true, entry: true, origin: "9", image: "shop:v2"},
		"a later copy that is accepted":            {existed: true, origin: "9", accepted: "u-1/9"},
		"a copy that is not later":                 {existed: true, origin: "7"},
		"a copy that waits although it is reached": {existed: true, entry: true, origin: "6", inB: "u-1/6", want: newer, waits: "u-1/6"},
		"a new cluster":                            {origin: "9"},
		"a new cluster, while b waits":             {entry: true, inB: "u-1/9", want: newer},
		"a new cluster, after b was accepted":      {entry: true, inB: "u-1/9", accepted: "u-1/9"},
		"a new cluster, while b is deleted":        {entry: true, inB: "u-1/deleted/2026-11-23T08:00:00Z", want: newer},
		"b is about to be engaged":                 {existed: true, away: v1.ReasonConnected, want: unobserved},
		"b is lost":                                {existed: true, away: v1.ReasonProbeFailed},
		"b is lost, and had a later copy":          {waiting: "u-1/9", away: v1.ReasonProbeFailed, want: newer, waits: "u-1/9"},
		"b is lost, its later copy is accepted":    {waiting: "u-1/9", away: v1.ReasonProbeFailed, accepted: "u-1/9"},
		"b left the fleet with a later copy":       {waiting: "u-1/9", away: v1.ReasonSecretNotFound},
		"the later copy in b is gone":              {waiting: "u-1/9"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := shop(7, 7, "a")
			app.Spec.Image, app.Annotations = "shop:v2", map[string]string{v1.RecoverAnnotation: tt.accepted}
			if tt.existed {
				app.Status.Clusters[0].AppliedGeneration = 3
			}
			if tt.entry {
				app.Status.Clusters = append(app.Status.Clusters, v1.ClusterStatus{Name: "b", UnknownOrigin: tt.inB})
			}
			tt.check(t, app)
		})
	}
}

// queue returns that of member a.
func (c createTest) queue() *MemberQueue {
	b := &caches{}
	if c.origin != "" {
		b.copied = &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
			v1.HubAppUIDAnnotation: "u-1", v1.HubGenerationAnnotation: c.origin,
		}}}
		b.copied.Spec.Image = c.image
	}
	status := metav1.ConditionTrue
	if c.away != "" && c.away != v1.ReasonConnected {
		status = metav1.ConditionFalse
	}
	hub := &caches{members: []v1.MemberCluster{memberIn("a", metav1.ConditionTrue, v1.ReasonConnected), memberIn("b", status, c.away)}}
	options := Options{}
	options.applyDefaults()
	other := &MemberQueue{name: "b", hub: hub, options: options, cluster: b, memory: newMemory("b")}
	return &MemberQueue{name: "a", hub: hub, options: options, state: state.New(clock.RealClock{}), memory: newMemory("a"), peer: func(name string) *MemberQueue {
		if name != "b" || c.away != "" {
			return nil
		}
		return other
	}}
}

func (c createTest) check(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	queue, d := c.queue(), DecisionOf(app, &app.Status, state.Sources{})
	err := queue.assess(t.Context(), &task{Decision: d, order: d.Order("a"), waiting: c.waiting}, &intended{}, false)
	got, waits := apierror.Decide(err).Reason, recovery.OriginAfter(err, "")
	if errors.Is(err, recovery.ErrUnobserved) {
		got = errorUnobserved
	}
	if got != c.want || waits != c.waits {
		t.Errorf("%q for %q, want %q for %q: %v", got, waits, c.want, c.waits, err)
	}
	compared := c.existed || c.waiting != ""
	if _, _, open := queue.state.Concerned("c"); len(open) == 1 != (compared && c.want != "") {
		t.Errorf("the queue waits for other members: %v", open)
	}
}
