package install

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/spoke/setup"
)

// warnings collects the warnings in answers of the API server.
type warnings struct {
	mutex sync.Mutex
	texts []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.texts = append(w.texts, text)
}

// take returns the warnings since the last call.
func (w *warnings) take() []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	texts := w.texts
	w.texts = nil
	return texts
}

// warned is a client of a user, with the warnings that its requests get.
type warned struct {
	client.Client
	*warnings
}

// as returns a client of a hub, with all permissions, for another user; empty for an administrator.
func as(t *testing.T, hub *fleet.Cluster, user string) warned {
	t.Helper()
	scheme, err := setup.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	w := warned{warnings: &warnings{}}
	configuration := rest.CopyConfig(hub.AdminConfig())
	configuration.WarningHandler = w.warnings
	if user != "" {
		configuration.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	}
	if w.Client, err = client.New(configuration, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	return w
}

// do sends a request and expects a warning about the placement, or none.
func (w warned) do(t *testing.T, what string, want bool, request func(context.Context) error) {
	t.Helper()
	w.take()
	if err := request(t.Context()); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	texts := w.take()
	for _, text := range texts {
		if !strings.Contains(text, "runs in every ready cluster") || !strings.Contains(text, "clusterSelector to {}") {
			t.Errorf("%s: another warning: %s", what, text)
		}
	}
	if (len(texts) == 1) != want || len(texts) > 1 {
		t.Errorf("%s: warnings %q, want one: %t", what, texts, want)
	}
}

func placed(name string, placement v1.Placement) *v1.EcommerceApp {
	return &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
		Spec:       v1.EcommerceAppSpec{Image: "shop:v1", Frontend: v1.Workload{Replicas: new(int32(1))}, Placement: placement},
	}
}

// TestPlacementWarning creates and changes applications with and without a placement.
func TestPlacementWarning(t *testing.T) {
	hub := fleettest.Start(t, fleet.Options{Hub: fleet.ClusterSpec{Name: "hub", APIServerOnly: true}}).Hub()
	framework.Apply(t, hub, "config/crd/bases", "config/admission/hub")
	user := as(t, hub, "")
	framework.Eventually(t, "the policy to be in force", func(ctx context.Context) error {
		if err := user.Create(ctx, placed("probe", v1.Placement{}), client.DryRunAll); err != nil {
			return err
		}
		if len(user.take()) == 0 {
			return errors.New("no warning")
		}
		return nil
	})
	t.Run("placements", user.testPlacements)
	t.Run("changes", user.testChanges)
	for _, account := range []string{
		"system:serviceaccount:" + config.Namespace + ":" + config.HubServiceAccount, "system:serviceaccount:elsewhere:" + config.HubServiceAccount,
	} {
		t.Run(account, func(t *testing.T) {
			ours := as(t, hub, account)
			ours.do(t, "creating", false, func(ctx context.Context) error {
				return ours.Create(ctx, placed("ours", v1.Placement{}), client.DryRunAll)
			})
			ours.do(t, "changing", false, func(ctx context.Context) error {
				return ours.Patch(ctx, placed("changes", v1.Placement{}), client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"image":"shop:ours"}}`)))
			})
		})
	}
	t.Run("another account", func(t *testing.T) {
		other := as(t, hub, "system:serviceaccount:elsewhere:pipeline")
		other.do(t, "creating", true, func(ctx context.Context) error {
			return other.Create(ctx, placed("other", v1.Placement{}), client.DryRunAll)
		})
	})
}

// testPlacements compares the policy with Placement.ExcludesNone.
func (w warned) testPlacements(t *testing.T) {
	for name, row := range map[string]struct {
		placement v1.Placement
		want      bool
	}{
		"none":           {v1.Placement{}, true},
		"tolerations":    {v1.Placement{Tolerations: []v1.Toleration{{Operator: v1.TolerationExists}}}, true},
		"replicas":       {v1.Placement{Replicas: v1.PlacementReplicas{Mode: v1.ReplicasDivided}}, true},
		"all on purpose": {v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterSelector: &v1.ClusterLabelSelector{}}}, false},
		"selector":       {v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterSelector: &v1.ClusterLabelSelector{MatchLabels: map[string]string{"a": "b"}}}}, false},
		"names":          {v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterNames: []string{"eu-1"}}}, false},
		"regions":        {v1.Placement{ClusterCriteria: v1.ClusterCriteria{Regions: []string{"eu-west-1"}}}, false},
		"providers":      {v1.Placement{ClusterCriteria: v1.ClusterCriteria{Providers: []v1.Provider{v1.ProviderAWS}}}, false},
		"number":         {v1.Placement{MaxClusters: 3}, false},
		"spread":         {v1.Placement{Spread: []v1.Spread{{Topology: v1.TopologyRegion, MaxClustersPerDomain: 1}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			app := placed("placements", row.placement)
			w.do(t, "creating", row.want, func(ctx context.Context) error { return w.Create(ctx, app, client.DryRunAll) })
			if got := row.placement.ExcludesNone(); got != row.want {
				t.Errorf("ExcludesNone() = %t", got)
			}
		})
	}
	// What the Go types leave out of a manifest, users may write.
	for name, placement := range map[string]string{"empty": `{}`, "empty lists": `{"clusterNames":[],"regions":[],"providers":[],"spread":[],"maxClusters":0}`} {
		t.Run(name, func(t *testing.T) {
			manifest := `{"apiVersion":"ecommerce.io/v1","kind":"EcommerceApp","metadata":{"name":"placements","namespace":"default"},"spec":{"image":"shop:v1","placement":` + placement + `}}`
			w.do(t, "applying", true, func(ctx context.Context) error {
				return w.Patch(ctx, placed("placements", v1.Placement{}), client.RawPatch("application/apply-patch+yaml", []byte(manifest)), client.FieldOwner("people"), client.DryRunAll)
			})
		})
	}
}

// testChanges changes one application, and its metadata and scale, which are no edit of its spec.
func (w warned) testChanges(t *testing.T) {
	app := placed("changes", v1.Placement{})
	patch := func(body string) func(context.Context) error {
		return func(ctx context.Context) error {
			return w.Patch(ctx, placed("changes", v1.Placement{}), client.RawPatch("application/merge-patch+json", []byte(body)))
		}
	}
	w.do(t, "creating", true, func(ctx context.Context) error { return w.Create(ctx, app) })
	w.do(t, "the same again", false, patch(`{"spec":{"image":"shop:v1"}}`))
	w.do(t, "a label", false, patch(`{"metadata":{"labels":{"a":"b"},"finalizers":["example.com/kept"]}}`))
	w.do(t, "another image", true, patch(`{"spec":{"image":"shop:v2"}}`))
	w.do(t, "a placement", false, patch(`{"spec":{"placement":{"clusterNames":["eu-1"]}}}`))
	w.do(t, "an image with a placement", false, patch(`{"spec":{"image":"shop:v3"}}`))
	w.do(t, "no placement any more", true, patch(`{"spec":{"placement":null}}`))
	w.do(t, "the scale", false, func(ctx context.Context) error {
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 5}}
		return w.SubResource("scale").Update(ctx, placed("changes", v1.Placement{}), client.WithSubResourceBody(scale))
	})
	w.do(t, "the status", false, func(ctx context.Context) error {
		return w.Status().Patch(ctx, placed("changes", v1.Placement{}), client.RawPatch("application/merge-patch+json", []byte(`{"status":{"message":"fine"}}`)))
	})
	w.do(t, "the deletion", false, func(ctx context.Context) error { return w.Delete(ctx, placed("changes", v1.Placement{})) })
	w.do(t, "a label while it is deleted", false, patch(`{"metadata":{"labels":{"c":"d"}}}`))
}
