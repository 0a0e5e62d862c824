package revisions_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// rolledOut returns an application with two revisions, and a store that has the first, with another image, class and
// list of propagated objects. The second is that of the spec.
func rolledOut(t *testing.T) (*revisions.Store, *v1.EcommerceApp) {
	t.Helper()
	return rolledOutWith(t, nil)
}

// rolledOutWith returns the same, where known remembers revisions.
func rolledOutWith(t *testing.T, known revisions.Memory) (*revisions.Store, *v1.EcommerceApp) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := appsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	hub := fake.NewClientBuilder().WithScheme(scheme).Build()
	store := revisions.New(hub, hub, known)
	app := &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "shop", UID: "u"},
		Spec: v1.EcommerceAppSpec{
			Image: "shop:v1", Rollout: &v1.Rollout{}, CloudConfig: ebs("io2"), Replicas: new(int32(4)),
			Propagate: []v1.PropagatedObject{{Kind: v1.PropagatedSecret, Name: "first"}, {Kind: v1.PropagatedSecret, Name: "both"}},
			Overrides: []v1.Override{{Selector: v1.ClusterCriteria{Regions: []string{"eu-west-1"}}, ImageRegistry: "eu.example.com"}},
		},
	}
	for _, change := range []func(*v1.EcommerceAppSpec){
		func(*v1.EcommerceAppSpec) {},
		func(s *v1.EcommerceAppSpec) {
			s.Image, s.CloudConfig = "shop:v2", ebs("gp3")
			s.Propagate = []v1.PropagatedObject{{Kind: v1.PropagatedSecret, Name: "both"}, {Kind: v1.PropagatedConfigMap, Name: "second"}}
		},
	} {
		change(&app.Spec)
		resolved, err := store.Resolve(t.Context(), app)
		if err == nil {
			err = store.Store(t.Context(), app, resolved)
		}
		if err != nil {
			t.Fatal(err)
		}
		app.Status.Rollout = &v1.RolloutStatus{Revision: resolved.Revision, PreviousRevision: resolved.Revision - 1, SpecHash: resolved.Hash, State: v1.RolloutProgressing}
	}
	app.Status.Clusters = []v1.ClusterStatus{{Name: "a", Region: "eu-west-1", Revision: 2}}
	return store, app
}

func ebs(kind string) v1.CloudConfig {
	return v1.CloudConfig{AWS: &v1.AWSConfig{EBS: v1.EBSConfig{Type: kind, IOPS: new(int32(8000))}}}
}

// TestIn checks that a cluster has the revision that was decided, whatever the spec says by now, with its class,
// share and overrides.
func TestIn(t *testing.T) {
	t.Parallel()
	member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	cloud := csi.Cluster{Provider: v1.ProviderAWS, Region: "eu-west-1", Drivers: []string{csi.DriverEBS}}
	for name, tt := range map[string]struct {
		change   func(*v1.EcommerceApp)
		revision int64
		image    string
		earlier  bool
		missing  bool
	}{
		"that of the spec":     {func(*v1.EcommerceApp) {}, 2, "shop:v2", false, false},
		"an earlier one":       {func(a *v1.EcommerceApp) { a.Status.Clusters[0].Revision = 1 }, 1, "shop:v1", true, false},
		"an edit since":        {func(a *v1.EcommerceApp) { a.Spec.Image = "shop:v3" }, 2, "shop:v2", true, false},
		"replicas are none":    {func(a *v1.EcommerceApp) { a.Spec.Replicas = new(int32(5)) }, 2, "shop:v2", false, false},
		"a cluster that joins": {func(a *v1.EcommerceApp) { a.Status.Clusters[0].Revision = 0 }, 2, "shop:v2", false, false},
		"one that joins after a rollback": {func(a *v1.EcommerceApp) {
			a.Status.Clusters, a.Status.Rollout.State = nil, v1.RolloutRolledBack
		}, 1, "shop:v1", true, false},
		"nothing is decided":   {func(a *v1.EcommerceApp) { a.Status.Rollout = nil }, 0, "shop:v2", false, false},
		"no rollout any more":  {func(a *v1.EcommerceApp) { a.Spec.Rollout, a.Status.Clusters[0].Revision = nil, 1 }, 0, "shop:v2", false, false},
		"one that was deleted": {func(a *v1.EcommerceApp) { a.Status.Clusters[0].Revision = 7 }, 7, "", true, true},
		"an override that fails": {func(a *v1.EcommerceApp) {
			a.Status.Clusters[0].Region = "eu-west-1"
			a.Spec.Rollout, a.Spec.Overrides[0].JSONPatches = nil, []v1.JSONPatch{{Op: "remove", Path: "/none"}}
		}, 0, "", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, app := rolledOut(t)
			tt.change(app)
			got, err := store.InMember(t.Context(), app, member)
			if _, is := errors.AsType[*apierror.SpecError](err); is != tt.missing || err != nil && !tt.missing {
				t.Fatalf("error %v, want one %t", err, tt.missing)
			}
			if got.Revision != tt.revision || got.Earlier != tt.earlier || got.Spec.Image != tt.image {
				t.Errorf("revision %d with %q, earlier %t; want %d with %q, earlier %t", got.Revision, got.Spec.Image, got.Earlier, tt.revision, tt.image, tt.earlier)
			}
			if tt.missing {
				return
			}
			if selected := len(app.Status.Clusters) > 0; (got.Spec.ImageRegistry != "") != selected {
				t.Errorf("the registry of the override is %q, in a region that is known: %t", got.Spec.ImageRegistry, selected)
			}
			want, err := csi.AppClass(cloud, map[string]v1.CloudConfig{"shop:v1": ebs("io2"), "shop:v2": ebs("gp3")}[tt.image])
			class, failed := got.AppClass(cloud)
			if err != nil || failed != nil || class.Name != want.Name {
				t.Errorf("class %v, errors %v and %v; want that of the revision", class, err, failed)
			}
		})
	}
}

// TestDatabase returns the database of a member only if it is known which overrides select it, in the server that is
// rolled out.
func TestDatabase(t *testing.T) {
	t.Parallel()
	replicas := v1.Override{Database: v1.DatabaseOverride{Replicas: new(int32(3))}}
	failing := v1.Override{JSONPatches: []v1.JSONPatch{{Op: "remove", Path: "/none"}}}
	unknown, known := &v1.MemberCluster{}, &v1.MemberCluster{Status: v1.MemberClusterStatus{ClusterUID: "eu"}}
	for name, tt := range map[string]struct {
		overrides []v1.Override
		member    *v1.MemberCluster
		want      *int32
		fails     bool
	}{
		"no override, unknown member":  {nil, unknown, nil, false},
		"an override, unknown member":  {[]v1.Override{replicas}, unknown, nil, true},
		"an override, known member":    {[]v1.Override{replicas}, known, new(int32(3)), false},
		"an override that is an error": {[]v1.Override{failing}, known, nil, true},
	} {
		app := &v1.EcommerceApp{}
		app.Spec = v1.EcommerceAppSpec{Database: &v1.Database{Engine: v1.EngineMySQL, Version: "9.0"}, Overrides: tt.overrides, Rollout: &v1.Rollout{}}
		app.Status.Rollout = &v1.RolloutStatus{DatabaseServer: &v1.DatabaseServer{Version: "8.0"}}
		got, err := revisions.Database(app, tt.member)
		if (err != nil) != tt.fails || (got == nil) != tt.fails {
			t.Errorf("%s: database %v, error %v", name, got, err)
		} else if got != nil && (!cmp.Equal(got.Replicas, tt.want) || got.Version != "8.0") {
			t.Errorf("%s: %v replicas of %s, want %v of the server that is rolled out", name, got.Replicas, got.Version, tt.want)
		}
		app.Spec.Database = nil
		if got, err := revisions.Database(app, unknown); got != nil || err != nil {
			t.Errorf("%s, without a database: %v, error %v", name, got, err)
		}
	}
}

// TestShareOfARevision checks that a cluster has its part of the replicas of the application, and the revision that
// it is of.
func TestShareOfARevision(t *testing.T) {
	t.Parallel()
	store, app := rolledOut(t)
	target := revisions.Target{Member: &v1.MemberCluster{}, Revision: 1, Earlier: true, Share: &v1.ReplicaShare{Frontend: new(int32(3))}}
	got, err := store.In(t.Context(), app, target)
	if err != nil || got.Revision != 1 || !got.Earlier || got.Spec.Image != "shop:v1" || *got.Spec.Replicas != 3 || *app.Spec.Replicas != 4 {
		t.Errorf("%+v, error %v; want three replicas of shop:v1", got, err)
	}
}

// TestPropagated checks that clusters that have an earlier revision need what it listed, one that joins them
// included.
func TestPropagated(t *testing.T) {
	t.Parallel()
	object := func(kind v1.PropagatedKind, name string) v1.PropagatedObject {
		return v1.PropagatedObject{Kind: kind, Name: name}
	}
	both, second, first := object(v1.PropagatedSecret, "both"), object(v1.PropagatedConfigMap, "second"), object(v1.PropagatedSecret, "first")
	for name, tt := range map[string]struct {
		change func(*v1.EcommerceApp)
		want   []v1.PropagatedObject
	}{
		"all have that of the spec": {func(*v1.EcommerceApp) {}, []v1.PropagatedObject{both, second}},
		"one has an earlier one": {func(a *v1.EcommerceApp) {
			a.Status.Clusters = append(a.Status.Clusters, v1.ClusterStatus{Name: "b", Revision: 1}, v1.ClusterStatus{Name: "c", Revision: 1})
		}, []v1.PropagatedObject{both, second, first}},
		"rolled back": {func(a *v1.EcommerceApp) {
			a.Status.Rollout.State, a.Status.Clusters[0].Revision = v1.RolloutRolledBack, 1
		}, []v1.PropagatedObject{both, second, first}},
		"a revision that was deleted": {func(a *v1.EcommerceApp) { a.Status.Clusters[0].Revision = 7 }, []v1.PropagatedObject{both, second}},
		"nothing is listed any more": {func(a *v1.EcommerceApp) {
			a.Spec.Propagate, a.Status.Clusters[0].Revision = nil, 1
		}, []v1.PropagatedObject{first, both}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, app := rolledOut(t)
			tt.change(app)
			before := app.DeepCopy()
			got, err := store.Propagated(t.Context(), app)
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
			if diff := cmp.Diff(before, app, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the application was changed (-before +after):\n%s", diff)
			}
		})
	}
}

// TestMayReturn checks that what an earlier revision may refer to stays until no cluster can have that any more.
func TestMayReturn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*v1.EcommerceApp)
		want   bool
	}{
		"complete":                    {func(*v1.EcommerceApp) {}, false},
		"in progress":                 {func(a *v1.EcommerceApp) { a.Status.Rollout.State = v1.RolloutProgressing }, true},
		"rolled back":                 {func(a *v1.EcommerceApp) { a.Status.Rollout.State = v1.RolloutRolledBack }, true},
		"an edit that is not decided": {func(a *v1.EcommerceApp) { a.Spec.Image = "shop:v3" }, true},
		"nothing is decided":          {func(a *v1.EcommerceApp) { a.Status.Rollout = nil }, false},
		"no rollout":                  {func(a *v1.EcommerceApp) { a.Spec.Rollout = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, app := rolledOut(t)
			app.Status.Rollout.State = v1.RolloutComplete
			tt.change(app)
			if got := revisions.MayReturn(app); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}

// remembering is a Memory of one application.
type remembering map[int64][]byte

func (r remembering) Revision(_ *v1.EcommerceApp, number int64) []byte { return r[number] }

func (r remembering) KeepRevision(_ *v1.EcommerceApp, number int64, raw []byte) { r[number] = raw }

// TestRevisionsAreReadOnce checks that remembered revisions are not read again.
func TestRevisionsAreReadOnce(t *testing.T) {
	t.Parallel()
	known := remembering{}
	store, app := rolledOutWith(t, known)
	if spec, err := store.Spec(t.Context(), app, 1); err != nil || spec.Image != "shop:v1" || len(known) != 1 {
		t.Fatalf("%+v, error %v, remembered %v", spec, err, known)
	}
	known[1] = bytes.ReplaceAll(known[1], []byte("shop:v1"), []byte("shop:v0"))
	if spec, err := store.Spec(t.Context(), app, 1); err != nil || spec.Image != "shop:v0" {
		t.Errorf("error %v, image %q; want what is remembered", err, spec.Image)
	}
}
