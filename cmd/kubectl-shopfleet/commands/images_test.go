package commands

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/config/samples"
	spokerender "github.com/shopfleet/shopfleet/spoke/render"
)

// TestImages: without a cluster, the images are those that install names and those that rendering has of its own.
func TestImages(t *testing.T) {
	t.Parallel()
	login := spokerender.DefaultImages()[0]
	for name, tt := range map[string]struct {
		args     []string
		registry string
		want     string
	}{
		"of a release": {nil, "registry.example.com/shopfleet", login + "\nregistry.example.com/shopfleet/shopfleet-hub:v9\nregistry.example.com/shopfleet/shopfleet-spoke:v9\n"},
		"of a build":   {nil, "", login + "\nshopfleet-hub:v9\nshopfleet-spoke:v9\n"},
		"of a mirror": {[]string{"--mirror", "mirror.example.com:5000/hub"}, "registry.example.com/shopfleet", login + "\tmirror.example.com:5000/hub" + strings.TrimPrefix(login, "quay.io") +
			"\nregistry.example.com/shopfleet/shopfleet-hub:v9\tmirror.example.com:5000/hub/shopfleet/shopfleet-hub:v9" +
			"\nregistry.example.com/shopfleet/shopfleet-spoke:v9\tmirror.example.com:5000/hub/shopfleet/shopfleet-spoke:v9\n"},
		"for a template": {[]string{"-o", "jsonpath={.images[1].name}"}, "", "shopfleet-hub:v9"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			streams, _, out, errOut := genericiooptions.NewTestIOStreams()
			code := New(Invocation{Args: append([]string{program, "images"}, tt.args...), Registry: tt.registry, Version: "v9", Streams: streams}).Run(t.Context())
			if code != exitDone || out.String() != tt.want {
				t.Errorf("exit code %d, %q, %s; want %q", code, out, errOut, tt.want)
			}
		})
	}
}

// TestImagesAreInstalled: the manifests that install applies have no other images.
func TestImagesAreInstalled(t *testing.T) {
	t.Parallel()
	_, listed, _ := run(t, "images")
	for _, set := range sets() {
		objects, err := config.Set(set).Install(config.Installation{Image: config.Set(set).Image("v9")})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := yaml.Marshal(objects)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for line := range strings.Lines(string(raw)) {
			_, image, is := strings.Cut(strings.TrimSpace(line), " --spoke-image=")
			if !is {
				_, image, is = strings.Cut(strings.TrimSpace(line), "image: ")
			}
			if !is || !strings.Contains(image, ":v9") {
				continue
			}
			found++
			if !slices.Contains(strings.Fields(listed), image) {
				t.Errorf("the %s has the image %s, which is not in %q", set, image, listed)
			}
		}
		if found == 0 {
			t.Errorf("the manifests of the %s have no image", set)
		}
	}
}

// TestImagesOf: overrides add the images of the members where an application is, or of all while it is nowhere. An override
// that cannot be applied is named, and hides no other image.
func TestImagesOf(t *testing.T) {
	t.Parallel()
	members := []v1.MemberCluster{{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}}, {ObjectMeta: metav1.ObjectMeta{Name: "us-1"}}}
	const mirrored = "mirror.example.com/library/postgres:13.4"
	for name, tt := range map[string]struct {
		change func(*v1.EcommerceApp)
		want   []string
		says   string
	}{
		"the spec":         {func(app *v1.EcommerceApp) { app.Spec.Overrides = nil }, []string{"ecommerce-frontend:v2.0.0", "postgres:13.4", "spoke:v9"}, ""},
		"nowhere":          {func(*v1.EcommerceApp) {}, []string{"postgres:13.4", mirrored, "mirror.example.com/library/spoke:v9"}, ""},
		"there":            {func(app *v1.EcommerceApp) { app.Status.Clusters = []v1.ClusterStatus{{Name: "us-1"}} }, []string{"postgres:13.4", mirrored}, ""},
		"in another":       {func(app *v1.EcommerceApp) { app.Status.Clusters = []v1.ClusterStatus{{Name: "eu-1"}} }, []string{"postgres:13.4"}, ""},
		"a broken one":     {func(app *v1.EcommerceApp) { app.Spec.Overrides[1].Selector.ClusterNames = []string{"eu-1"} }, []string{"postgres:13.4", mirrored}, "spec.overrides[1]"},
		"not renderable":   {func(app *v1.EcommerceApp) { app.Spec.Image, app.Spec.Frontend.Image, app.Spec.Overrides = "", "", nil }, nil, "spec.frontend.image must be set"},
		"another database": {func(app *v1.EcommerceApp) { app.Spec.Database.Image = "registry.example.com/db:13.4" }, []string{"registry.example.com/db:13.4"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := &v1.EcommerceApp{}
			if err := yaml.Unmarshal(samples.EcommerceApp(), app); err != nil {
				t.Fatal(err)
			}
			app.Spec.Overrides = []v1.Override{{ImageRegistry: "mirror.example.com"}, {JSONPatches: []v1.JSONPatch{{Op: "remove", Path: "/backend/missing"}}}}
			app.Spec.Overrides[0].Selector.ClusterNames, app.Spec.Overrides[1].Selector.ClusterNames = []string{"us-1"}, []string{"none"}
			tt.change(app)
			got, err := imagesOf(app, members, "spoke:v9")
			for _, image := range tt.want {
				if !slices.Contains(got, image) {
					t.Errorf("%s is missing in %v", image, got)
				}
			}
			if isMirrored := slices.Contains(got, mirrored); isMirrored != slices.Contains(tt.want, mirrored) {
				t.Errorf("%v, want that of the mirror: %t", got, !isMirrored)
			}
			if diff := cmp.Diff(tt.says != "", err != nil); diff != "" || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want %q", err, tt.says)
			}
		})
	}
}
