package api_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
)

// scales returns the client that kubectl scale and the HorizontalPodAutoscaler use.
func (s *server) scales(t *testing.T) scale.ScalesGetter {
	t.Helper()
	cached := memory.NewMemCacheClient(s.discovery)
	client, err := scale.NewForConfig(s.cluster.AdminConfig(), restmapper.NewDeferredDiscoveryRESTMapper(cached),
		dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(s.discovery))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// testScale scales each kind at the field that decides the number of pods.
func (s *server) testScale(t *testing.T) {
	s.namespace(t, "scale")
	for _, k := range []kind{ecommerceApps(), webApps(), mySQLClusters()} {
		t.Run(k.name, func(t *testing.T) { s.checkScale(t, k) })
	}
	t.Run("without a number of its own", s.testScaleOfDefault)
	t.Run("with autoscaling", s.testScaleOfAutoscaled)
}

// checkScale reads and writes /scale of the kind's sample.
func (s *server) checkScale(t *testing.T, k kind) {
	t.Helper()
	scales, resource := s.scales(t).Scales("scale"), k.resource.GroupResource()
	created := s.create(t.Context(), t, k, edits{"metadata.namespace": "scale"})
	s.writeStatus(t, k, created, `{"replicas":2,"selector":"app=shop"}`)

	got, err := scales.Get(t.Context(), resource, created.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := autoscalingv1.ScaleStatus{Replicas: 2, Selector: "app=shop"}
	if start := valueAt(t, created, k.scaled); int64(got.Spec.Replicas) != start || !cmp.Equal(got.Status, want) {
		t.Errorf("scale = %d wanted, %+v; want %d, %+v", got.Spec.Replicas, got.Status, start, want)
	}

	got.Spec.Replicas = 5
	if _, err := scales.Update(t.Context(), resource, got, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	live, err := s.resource(k, "scale").Get(t.Context(), created.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	edits{k.scaled: int64(5)}.apply(t, created)
	if diff := cmp.Diff(valueAt(t, created, "spec"), valueAt(t, live, "spec")); diff != "" {
		t.Errorf("spec after scaling (-want +got):\n%s", diff)
	}

	got.Spec.Replicas, got.ResourceVersion = 1001, ""
	_, err = scales.Update(t.Context(), resource, got, metav1.UpdateOptions{})
	if err == nil || !strings.Contains(err.Error(), k.scaled) {
		t.Errorf("scaling beyond the bounds: %v, want a refusal of %s", err, k.scaled)
	}
}

// testScaleOfDefault scales a frontend whose number of pods is the default, spec.replicas.
func (s *server) testScaleOfDefault(t *testing.T) {
	k := ecommerceApps()
	created := s.create(t.Context(), t, k, edits{
		"metadata.namespace": "scale", "metadata.name": "default", "spec.frontend": absent(),
	})
	page, err := os.ReadFile("../../api/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.scales(t).Scales("scale").Get(t.Context(), k.resource.GroupResource(), created.GetName(), metav1.GetOptions{})
	if err == nil || !strings.Contains(string(page), "\n    "+err.Error()+"\n") {
		t.Errorf("reading /scale: %v, want the error that api/README.md quotes", err)
	}
	if err := s.scaleByHand(t, k, created.GetName()); err != nil {
		t.Fatal(err)
	}
	read, err := s.scales(t).Scales("scale").Get(t.Context(), k.resource.GroupResource(), created.GetName(), metav1.GetOptions{})
	if err != nil || read.Spec.Replicas != 5 {
		t.Errorf("reading /scale with spec.frontend.replicas: %+v, %v; want 5 replicas", read, err)
	}
	live, err := s.resource(k, "scale").Get(t.Context(), created.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int64{"spec.frontend.replicas": 5, "spec.replicas": 3} {
		if got := valueAt(t, live, path); got != want {
			t.Errorf("%s = %v, want %d", path, got, want)
		}
	}
}

// scaleByHand does what kubectl scale --replicas=5 does.
func (s *server) scaleByHand(t *testing.T, k kind, name string) error {
	t.Helper()
	_, err := s.scales(t).Scales("scale").Patch(t.Context(), k.resource, name, types.MergePatchType,
		[]byte(`{"spec":{"replicas":5}}`), metav1.PatchOptions{})
	return err
}

// testScaleOfAutoscaled checks that /scale is refused while autoscaling is set.
func (s *server) testScaleOfAutoscaled(t *testing.T) {
	k := ecommerceApps()
	created := s.create(t.Context(), t, k, edits{
		"metadata.namespace": "scale", "metadata.name": "autoscaled", "spec.frontend.replicas": absent(),
		"spec.frontend.autoscaling": map[string]any{"minReplicas": int64(1), "maxReplicas": int64(3)},
	})
	err := s.scaleByHand(t, k, created.GetName())
	if err == nil {
		t.Fatal("scaling an autoscaled frontend by hand was accepted")
	}
	if want := "spec.frontend.replicas"; !strings.Contains(err.Error(), want) {
		t.Errorf("err = %v, want one that names %s", err, want)
	}
}
