package rollout

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func template(t *testing.T, spec *v1.EcommerceAppSpec) (raw []byte, hash string) {
	t.Helper()
	raw, hash, err := Template(spec)
	if err != nil {
		t.Fatal(err)
	}
	return raw, hash
}

// TestHash checks that the hash of a known spec stays the same: another one would roll out every application anew.
func TestHash(t *testing.T) {
	t.Parallel()
	raw, hash := template(t, &apitest.Seed().Spec)
	apitest.Golden(t, "revision.golden", hash+"\n"+string(raw)+"\n")
	minimal := v1.EcommerceAppSpec{Image: "shop:v1"}
	raw, hash = template(t, &minimal)
	if string(raw) != `{"image":"shop:v1"}` || hash != "0577712f8e9680c4" {
		t.Errorf("%s has hash %s", raw, hash)
	}
}

// TestRoundTrip checks that a revision survives the way through another spec, which keeps all that is not part of
// one.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		from, to := &apitest.RandomFullApp(r).Spec, &apitest.RandomFullApp(r).Spec
		from.Rollout, to.Paused = &v1.Rollout{Strategy: v1.RolloutAll}, true
		raw, hash := template(t, from)
		fromBefore, toBefore := from.DeepCopy(), to.DeepCopy()
		merged, err := Merge(to, raw)
		if err != nil {
			t.Fatal(err)
		}
		if again, sameHash := template(t, merged); hash != sameHash {
			t.Fatalf("%s becomes %s", raw, again)
		}
		if !equality.Semantic.DeepEqual(from, fromBefore) || !equality.Semantic.DeepEqual(to, toBefore) {
			t.Fatal("an argument was changed")
		}
		if diff := cmp.Diff(outside(to), outside(merged), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-want +got): %s", diff)
		}
		same, err := Merge(from, raw)
		if err != nil || !equality.Semantic.DeepEqual(from, same) {
			t.Fatalf("a spec does not survive its own revision: %v%s", err, cmp.Diff(from, same))
		}
	}
}

// outside returns what is not part of a revision.
func outside(spec *v1.EcommerceAppSpec) v1.EcommerceAppSpec {
	return v1.EcommerceAppSpec{
		Placement: spec.Placement, Rollout: spec.Rollout, Propagate: spec.Propagate, Deletion: spec.Deletion, Paused: spec.Paused,
	}
}

// TestReplicas checks that a revision has the present numbers of replicas, unless it or the present spec scales
// automatically.
func TestReplicas(t *testing.T) {
	t.Parallel()
	spec := func(replicas *int32, scales bool) *v1.EcommerceAppSpec {
		s := &v1.EcommerceAppSpec{Image: "shop:v1", Frontend: v1.Workload{Replicas: replicas}, Backend: v1.Workload{Image: "shop:v1", Replicas: replicas}}
		if scales {
			s.Frontend.Autoscaling, s.Backend.Autoscaling = &v1.Autoscaling{MaxReplicas: 9}, &v1.Autoscaling{MaxReplicas: 9}
		}
		return s
	}
	for name, tt := range map[string]struct {
		revision, present *v1.EcommerceAppSpec
		want              *int32
	}{
		"scaled by hand":                 {spec(new(int32(3)), false), spec(new(int32(5)), false), new(int32(5))},
		"scaled by hand to the default":  {spec(new(int32(3)), false), spec(nil, false), nil},
		"scales automatically by now":    {spec(new(int32(3)), false), spec(nil, true), new(int32(3))},
		"scaled automatically then":      {spec(nil, true), spec(new(int32(5)), false), nil},
		"scales automatically all along": {spec(nil, true), spec(nil, true), nil},
	} {
		raw, _ := template(t, tt.revision)
		got, err := Merge(tt.present, raw)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]*int32{tt.want, tt.want}, []*int32{got.Frontend.Replicas, got.Backend.Replicas}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if (got.Frontend.Autoscaling == nil) != (tt.revision.Frontend.Autoscaling == nil) {
			t.Errorf("%s: autoscaling %v, want that of the revision", name, got.Frontend.Autoscaling)
		}
	}
}

// TestHashesDiffer edits each field of the schema: only those that are not part of a revision keep the hash.
func TestHashesDiffer(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	app := apitest.RandomFullApp(r)
	for range 2000 {
		before := app.DeepCopy()
		field := apitest.RandomEdit(r, app)
		_, old := template(t, &before.Spec)
		_, hash := template(t, &app.Spec)
		a, b := outside(&before.Spec), outside(&app.Spec)
		rest, changed := before.Spec.DeepCopy(), app.Spec.DeepCopy()
		for _, spec := range []*v1.EcommerceAppSpec{rest, changed} {
			spec.Placement, spec.Rollout, spec.Deletion, spec.Paused = v1.Placement{}, nil, v1.Deletion{}, false
			spec.Replicas, spec.Frontend.Replicas, spec.Backend.Replicas = nil, nil, nil
		}
		if same := equality.Semantic.DeepEqual(rest, changed); same != (old == hash) {
			t.Fatalf("%s changed; the same hash: %t\n%s%s", field, old == hash, cmp.Diff(a, b), cmp.Diff(rest, changed))
		}
	}
}

func TestMergeRejects(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"", "[]", `{"image":1}`, `{"image":`} {
		if _, err := Merge(&v1.EcommerceAppSpec{}, []byte(raw)); err == nil {
			t.Errorf("%q is merged", raw)
		}
	}
}

// FuzzMerge merges anything that may be stored. What can be merged has a revision that stays the same.
func FuzzMerge(f *testing.F) {
	raw, err := json.Marshal(apitest.Seed().Spec)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte(`{"database":null,"frontend":{"replicas":3}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		spec := apitest.Seed().Spec
		merged, err := Merge(&spec, raw)
		if err != nil {
			return
		}
		first, hash := template(t, merged)
		again, err := Merge(&spec, first)
		if err != nil {
			t.Fatal(err)
		}
		if second, sameHash := template(t, again); hash != sameHash {
			t.Fatalf("%s becomes %s", first, second)
		}
	})
}

// postgreSQL returns a database of PostgreSQL with a change.
func postgreSQL(change func(*v1.Database)) *v1.Database {
	db := &v1.Database{Engine: v1.EnginePostgreSQL, Version: "17.2", Storage: "10Gi"}
	if change != nil {
		change(db)
	}
	return db
}

// keepCase is a database in a revision and in the copy, with the server that last started there; zero if that is
// not known.
type keepCase struct {
	revision, live, want *v1.Database
	started              v1.DatabaseServer
}

func checkKeepDatabase(t *testing.T, cases map[string]keepCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec, live := &v1.EcommerceAppSpec{Database: c.revision.DeepCopy()}, &v1.EcommerceApp{Spec: v1.EcommerceAppSpec{Database: c.live.DeepCopy()}}
			if live.Status.StartedServer = new(c.started); c.started == (v1.DatabaseServer{}) {
				live.Status.StartedServer = nil
			}
			// As while an image cannot be pulled, which does not say that no pod ever had it.
			live.Status.Components = []v1.ComponentStatus{{Name: "database", Reason: v1.ReasonImagePullBackOff, UpdatedReplicas: 1}}
			KeepDatabase(spec, live)
			if diff := cmp.Diff(c.want, spec.Database); diff != "" {
				t.Errorf("(-want +got): %s", diff)
			}
			if !reflect.DeepEqual(live.Spec.Database, c.live) || spec.Database != nil && spec.Database == live.Spec.Database {
				t.Error("the live spec is changed, or shared")
			}
		})
	}
}

func TestKeepDatabase(t *testing.T) {
	t.Parallel()
	grown := postgreSQL(func(db *v1.Database) { db.Version, db.Storage = "17.4", "20Gi" })
	unknown := v1.DatabaseServer{}
	started := v1.DatabaseServer{Version: "17.2", Image: "pg:17.2-bookworm"}
	checkKeepDatabase(t, map[string]keepCase{
		"none":                  {nil, nil, nil, unknown},
		"none is live":          {postgreSQL(nil), nil, postgreSQL(nil), unknown},
		"none in the revision":  {nil, grown, grown, unknown},
		"the same":              {postgreSQL(nil), postgreSQL(nil), postgreSQL(nil), unknown},
		"version and size stay": {postgreSQL(nil), grown, grown, unknown},
		"the class stays": {
			postgreSQL(func(db *v1.Database) { db.StorageProfile = v1.StorageFast }), postgreSQL(func(db *v1.Database) { db.StorageClassName = new("slow") }),
			postgreSQL(func(db *v1.Database) { db.StorageClassName = new("slow") }), unknown,
		},
		"an image goes with its version": {
			postgreSQL(func(db *v1.Database) { db.Image = "registry.example.com/pg:17.2" }), postgreSQL(func(db *v1.Database) { db.Version, db.Image = "17.4", "registry.example.com/pg:17.4" }),
			postgreSQL(func(db *v1.Database) { db.Version, db.Image = "17.4", "registry.example.com/pg:17.4" }), unknown,
		},
		"an image of the same version of PostgreSQL returns": {
			postgreSQL(func(db *v1.Database) { db.Image = "registry.example.com/pg:good" }), postgreSQL(func(db *v1.Database) { db.Image = "registry.example.com/pg:bad" }),
			postgreSQL(func(db *v1.Database) { db.Image = "registry.example.com/pg:good" }), unknown,
		},
		"an image of another distribution does not return": {
			postgreSQL(func(db *v1.Database) { db.Image = "pg:17.2-bookworm" }), postgreSQL(func(db *v1.Database) { db.Image = "pg:17.2-trixie" }),
			postgreSQL(func(db *v1.Database) { db.Image = "pg:17.2-trixie" }), unknown,
		},
		"an image of the distribution that started returns": {
			postgreSQL(func(db *v1.Database) { db.Image = "mirror/pg:17.2-bookworm" }), postgreSQL(func(db *v1.Database) { db.Image = "pg:17.2-typo-bookworm" }),
			postgreSQL(func(db *v1.Database) { db.Image = "mirror/pg:17.2-bookworm" }), started,
		},
		"an image of another distribution than the one that started does not": {
			postgreSQL(func(db *v1.Database) { db.Image = "pg:17.2-trixie" }), postgreSQL(func(db *v1.Database) { db.Image = "pg@sha256:typo" }),
			postgreSQL(func(db *v1.Database) { db.Image = started.Image }), started,
		},
		"what else is in the revision returns": {
			postgreSQL(func(db *v1.Database) { db.Replicas = new(int32(2)) }), postgreSQL(func(db *v1.Database) { db.Replicas = new(int32(3)) }),
			postgreSQL(func(db *v1.Database) { db.Replicas = new(int32(2)) }), unknown,
		},
	})
}

// TestKeepMySQL checks that a server that may have started stays, since it upgrades its files then. One that no pod
// has started with is replaced by the one that did.
func TestKeepMySQL(t *testing.T) {
	t.Parallel()
	mysql := func(version, image string) *v1.Database {
		return postgreSQL(func(db *v1.Database) { db.Engine, db.Version, db.Image = v1.EngineMySQL, version, image })
	}
	unknown := v1.DatabaseServer{}
	server := func(version, image string) v1.DatabaseServer {
		return v1.DatabaseServer{Version: version, Image: image}
	}
	checkKeepDatabase(t, map[string]keepCase{
		"an image of the same version of MySQL does not return": {
			mysql("8.4", "mysql:8.4.2"), mysql("8.4", "mysql:8.4.3"), mysql("8.4", "mysql:8.4.3"), unknown,
		},
		"a digest of MySQL does not return": {mysql("8.4.2", "mysql@sha256:aa"), mysql("8.4.2", "mysql@sha256:bb"), mysql("8.4.2", "mysql@sha256:bb"), unknown},
		"a digest of the same tag does not return": {
			mysql("8.4.2", "mysql:8.4.2@sha256:aa"), mysql("8.4.2", "mysql:8.4.2@sha256:bb"), mysql("8.4.2", "mysql:8.4.2@sha256:bb"), unknown,
		},
		"the official image of MySQL stays":       {mysql("8.4.2", "mirror/mysql:8.4.2"), mysql("8.4.3", ""), mysql("8.4.3", ""), unknown},
		"a major version of MySQL by image stays": {mysql("8", "mysql:8.4.2"), mysql("9", "mysql:9.1.0"), mysql("9", "mysql:9.1.0"), unknown},
		"an image of MySQL that never started returns": {
			mysql("8.4", "mysql:8.4.2"), mysql("8.4", "mysql:8.4.99"), mysql("8.4", "mysql:8.4.2"), server("8.4", "mysql:8.4.2"),
		},
		"started, then its image cannot be pulled elsewhere": {
			mysql("8.4", "mysql:8.4.2"), mysql("8.4", "mysql:8.4.3"), mysql("8.4", "mysql:8.4.3"), server("8.4", "mysql:8.4.3"),
		},
		"the official image has started": {mysql("8.4.3", "mirror/mysql:8.4.3"), mysql("8.4.3", ""), mysql("8.4.3", ""), server("8.4.3", "mysql:8.4.3")},
		"it is not known what started": {
			mysql("8.4", "mysql:8.4.2"), mysql("8.4", "mysql:8.4.99"), mysql("8.4", "mysql:8.4.99"), unknown,
		},
		"no server has such an image": {
			mysql("8.4", "mysql:8.4.2"), mysql("8.4", "mysql:8.4.99"), mysql("8.4", "mysql:8.4.99"), server("8.4", "mysql 8.4.2"),
		},
		"one from before the one that started does not return": {
			mysql("8.4", "mysql:8.4.1"), mysql("8.4", "mysql:8.4.99"), mysql("8.4", "mysql:8.4.2"), server("8.4", "mysql:8.4.2"),
		},
		"nor does another digest": {
			mysql("8.4.2", "mysql:8.4.2@sha256:aa"), mysql("8.4.2", "mysql:8.4.2@sha256:cc"), mysql("8.4.2", "mysql:8.4.2@sha256:bb"), server("8.4.2", "mysql:8.4.2@sha256:bb"),
		},
		"a version that never started stays": {mysql("8.4.2", ""), mysql("8.4.99", ""), mysql("8.4.99", ""), server("8.4.2", "mysql:8.4.2")},
	})
}

// TestKeepOfAnOlderStatus checks that a status that is about another spec does not say that no pod has started.
func TestKeepOfAnOlderStatus(t *testing.T) {
	t.Parallel()
	db := &v1.Database{Engine: v1.EngineMySQL, Version: "8.4", Image: "mysql:8.4.3", Storage: "10Gi"}
	live := &v1.EcommerceApp{Spec: v1.EcommerceAppSpec{Database: db.DeepCopy()}}
	live.Generation, live.Status.ObservedGeneration = 2, 1
	live.Status.StartedServer = &v1.DatabaseServer{Version: "8.4", Image: "mysql:8.4.2"}
	spec := &v1.EcommerceAppSpec{Database: db.DeepCopy()}
	spec.Database.Image = "mysql:8.4.2"
	if KeepDatabase(spec, live); spec.Database.Image != "mysql:8.4.3" {
		t.Errorf("the copy gets %s", spec.Database.Image)
	}
}
