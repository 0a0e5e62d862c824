package app

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// shop makes an application with entries for members.
func shop(observed int64, members ...string) *v1.EcommerceApp {
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "shop", UID: "u-1", Generation: 1}}
	app.Status.ObservedGeneration, app.Status.ClusterCount = observed, int32(len(members))
	for _, m := range members {
		app.Status.Clusters = append(app.Status.Clusters, v1.ClusterStatus{Name: m})
	}
	return app
}

// values returns gauges, and the counts of histograms, by name and label.
func values(t *testing.T, registry prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName() + "/" + m.GetLabel()[0].GetValue()
			out[name] = m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return out
}
