package render

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// TestImages: the list has each image of a rendered pod, whatever is known of the cluster. Those that are not of the spec
// are among the defaults.
func TestImages(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	apps := []*v1.EcommerceApp{sampleShop(t), everythingShop(t)}
	clusters := []Cluster{{}, {Name: "eu-1", ServiceMonitors: true, PrometheusRules: true, Certificates: true, LoginRotation: 1, LoginSwitching: true}}
	for range 50 {
		app, cluster := randomShop(random)
		apps, clusters = append(apps, app), append(clusters, cluster)
	}
	found := 0
	for i, app := range apps {
		listed, err := Images(app, "registry.example.com/shopfleet-spoke:v1.0.0")
		if err != nil {
			t.Fatal(err)
		}
		spec := &app.Spec
		named := append(DefaultImages(), spec.Image, spec.Frontend.Image, spec.Backend.Image, spec.Security.Authentication.Image)
		if spec.Database != nil {
			named = append(named, spec.Database.Image, map[v1.Engine]string{v1.EnginePostgreSQL: "postgres:", v1.EngineMySQL: "mysql:"}[spec.Database.Engine]+spec.Database.Version)
		}
		for _, image := range imagesOf(t, app, clusters[i]) {
			found++
			if !slices.Contains(listed, image) {
				t.Errorf("a pod of %s has the image %s, which is not listed: %v", app.Name, image, listed)
			}
			if spec.ImageRegistry == "" && !slices.Contains(named, image) {
				t.Errorf("a pod of %s has the image %s, which neither the spec names nor the defaults: %v", app.Name, image, named)
			}
		}
	}
	if found < 100 {
		t.Errorf("%d images of pods, want those of all samples", found)
	}
}

// imagesOf returns the images of all containers that are rendered for an application in a cluster.
func imagesOf(t *testing.T, app *v1.EcommerceApp, cluster Cluster) []string {
	t.Helper()
	var images []string
	for _, object := range workloadsOf(t, app, cluster) {
		for _, pod := range podTemplates(object.Resource) {
			images = slices.AppendSeq(images, maps.Values(component.ContainerImages(pod)))
		}
	}
	return images
}

// TestImagesOfAMirror: what imageRegistry names has all images, that of the Jobs with dumps included.
func TestImagesOfAMirror(t *testing.T) {
	t.Parallel()
	app := sampleShop(t)
	app.Spec.ImageRegistry = "mirror.example.com:5000/hub"
	got, err := Images(app, "registry.example.com/shopfleet/shopfleet-spoke:v1.0.0")
	want := []string{
		"mirror.example.com:5000/hub/library/ecommerce-backend:v2.0.0", "mirror.example.com:5000/hub/library/ecommerce-frontend:v2.0.0",
		"mirror.example.com:5000/hub/library/postgres:13.4", "mirror.example.com:5000/hub/oauth2-proxy/oauth2-proxy:v7.15.6",
		"mirror.example.com:5000/hub/shopfleet/shopfleet-spoke:v1.0.0",
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	app.Spec.Image, app.Spec.Frontend.Image = "", ""
	if got, err := Images(app, ""); err == nil {
		t.Errorf("%v of an application without an image, want an error", got)
	}
}
