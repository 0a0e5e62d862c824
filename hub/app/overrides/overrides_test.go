package overrides

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// member returns a member in eu-west-1 of AWS with the label tier=gold.
func member() *v1.MemberCluster {
	m := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1", Labels: map[string]string{"tier": "gold"}}}
	m.Status.Region, m.Status.Provider = "eu-west-1", v1.ProviderAWS
	return m
}

// spec returns a spec with a value in each field that overrides change.
func spec() v1.EcommerceAppSpec {
	return v1.EcommerceAppSpec{
		Image: "shop:v1", Replicas: new(int32(1)),
		Frontend: v1.Workload{Env: v1.EnvVars{{Name: "A", Value: "1"}, {Name: "B", Value: "1"}}, PodSettings: v1.PodSettings{
			ImagePullSecrets: []v1.LocalSecretReference{{Name: "main"}}, NodeSelector: map[string]string{"disk": "hdd", "arch": "amd64"},
		}},
		Backend: v1.Workload{Image: "api:v1", Port: 9000, Resources: v1.Resources{Requests: amounts("cpu", "1")}},
		Database: &v1.Database{
			Engine: v1.EnginePostgreSQL, Version: "17.2", Storage: "1Gi", StorageClassName: new("own"),
			Backup: v1.BackupPolicy{Enabled: true, Schedule: "0 2 * * *"},
		},
		Ingress:   v1.Ingress{Host: "shop.example.com", Annotations: map[string]string{"a": "1", "b": "1"}},
		Placement: v1.Placement{MaxClusters: 3},
		Deletion:  v1.Deletion{UnreachableTimeout: &metav1.Duration{}},
	}
}

func amounts(name v1.ResourceName, quantity string) v1.Amounts {
	return v1.Amounts{name: resource.MustParse(quantity)}
}

// copied returns the spec as a copy has it without overrides, with changes.
func copied(change func(*v1.EcommerceAppSpec)) v1.EcommerceAppSpec {
	s := spec()
	s.Placement, s.Deletion = v1.Placement{}, v1.Deletion{}
	change(&s)
	return s
}

// patched returns an override of every cluster with patches.
func patched(patches ...v1.JSONPatch) v1.Override { return v1.Override{JSONPatches: patches} }

// operation returns a patch; an empty value is none.
func operation(op, path, value string) v1.JSONPatch {
	p := v1.JSONPatch{Op: op, Path: path}
	if value != "" {
		p.Value.Raw = []byte(value)
	}
	return p
}

// effect is one row of a table: overrides, and what they change.
type effect struct {
	overrides []v1.Override
	changes   func(*v1.EcommerceAppSpec)
}

func check(t *testing.T, tests map[string]effect) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given := spec()
			given.Overrides = tt.overrides
			before := given.DeepCopy()
			got, err := Effective(&given, member())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(copied(tt.changes), got); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, &given); diff != "" {
				t.Errorf("the spec was changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestSelectors(t *testing.T) {
	t.Parallel()
	no := func(*v1.EcommerceAppSpec) {}
	yes := func(s *v1.EcommerceAppSpec) { s.Image = "shop:v2" }
	by := func(s v1.ClusterCriteria) []v1.Override { return []v1.Override{{Selector: s, Image: "shop:v2"}} }
	labelled := func(tier string) *v1.ClusterLabelSelector {
		return &v1.ClusterLabelSelector{MatchLabels: map[string]string{"tier": tier}}
	}
	region := func(region string) *v1.ClusterLabelSelector {
		return &v1.ClusterLabelSelector{MatchExpressions: []v1.ClusterRequirement{{Key: corev1.LabelTopologyRegion, Operator: "In", Values: []string{region}}}}
	}
	check(t, map[string]effect{
		"no overrides":                {nil, no},
		"no selector":                 {by(v1.ClusterCriteria{}), yes},
		"its label":                   {by(v1.ClusterCriteria{ClusterSelector: labelled("gold")}), yes},
		"the label of its region":     {by(v1.ClusterCriteria{ClusterSelector: region("eu-west-1")}), yes},
		"the label of another region": {by(v1.ClusterCriteria{ClusterSelector: region("us-east-1")}), no},
		"another label":               {by(v1.ClusterCriteria{ClusterSelector: labelled("silver")}), no},
		"its name":                    {by(v1.ClusterCriteria{ClusterNames: []string{"us-1", "eu-1"}}), yes},
		"another name":                {by(v1.ClusterCriteria{ClusterNames: []string{"us-1"}}), no},
		"its region":                  {by(v1.ClusterCriteria{Regions: []string{"eu-west-1"}}), yes},
		"another region":              {by(v1.ClusterCriteria{Regions: []string{"us-east-1"}}), no},
		"its provider":                {by(v1.ClusterCriteria{Providers: []v1.Provider{v1.ProviderAWS}}), yes},
		"another provider":            {by(v1.ClusterCriteria{Providers: []v1.Provider{v1.ProviderGCP}}), no},
		"its region, not its name":    {by(v1.ClusterCriteria{Regions: []string{"eu-west-1"}, ClusterNames: []string{"us-1"}}), no},
		"a patch for another cluster that would fail": {[]v1.Override{{
			Selector: v1.ClusterCriteria{ClusterNames: []string{"us-1"}}, JSONPatches: []v1.JSONPatch{operation("remove", "/none", "")},
		}}, no},
	})
}

func TestFields(t *testing.T) {
	t.Parallel()
	resources := v1.Resources{Requests: amounts("memory", "1Gi"), Limits: amounts("cpu", "2")}
	workload := v1.WorkloadOverride{
		ContainerOverride: v1.ContainerOverride{
			Image: "own:v2", Resources: v1.ResourcesOverride{Requests: v1.AmountsOverride(amounts("memory", "1Gi")), Limits: v1.AmountsOverride(amounts("cpu", "2"))},
			ImagePullSecrets: []v1.LocalSecretReference{{Name: "main"}, {Name: "region"}}, NodeSelector: map[string]string{"disk": "ssd"},
		},
		Replicas: new(int32(5)), Env: v1.EnvVars{{Name: "B", Value: "2"}, {Name: "C", Value: "2"}},
	}
	check(t, map[string]effect{
		"top": {
			[]v1.Override{{Image: "shop:v2", ImageRegistry: "mirror.example.com", Replicas: new(int32(0))}},
			func(s *v1.EcommerceAppSpec) {
				s.Image, s.ImageRegistry, s.Replicas = "shop:v2", "mirror.example.com", new(int32(0))
			},
		},
		"frontend, where maps and lists have entries": {[]v1.Override{{Frontend: workload}}, func(s *v1.EcommerceAppSpec) {
			s.Frontend.Image, s.Frontend.Replicas, s.Frontend.Resources = "own:v2", new(int32(5)), resources
			s.Frontend.ImagePullSecrets = workload.ImagePullSecrets
			s.Frontend.NodeSelector = map[string]string{"disk": "ssd", "arch": "amd64"}
			s.Frontend.Env = v1.EnvVars{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}, {Name: "C", Value: "2"}}
		}},
		"backend, where they have none": {[]v1.Override{{Backend: workload}}, func(s *v1.EcommerceAppSpec) {
			s.Backend.Image, s.Backend.Replicas, s.Backend.Env = "own:v2", new(int32(5)), workload.Env
			s.Backend.Resources = v1.Resources{Requests: amounts("memory", "1Gi"), Limits: amounts("cpu", "2")}
			s.Backend.Resources.Requests["cpu"] = resource.MustParse("1")
			s.Backend.ImagePullSecrets, s.Backend.NodeSelector = workload.ImagePullSecrets, workload.NodeSelector
		}},
		"database": {
			[]v1.Override{{Database: v1.DatabaseOverride{ContainerOverride: workload.ContainerOverride, Replicas: new(int32(3)), StorageProfile: v1.StorageFast}}},
			func(s *v1.EcommerceAppSpec) {
				db := s.Database
				db.Image, db.Replicas, db.Resources, db.StorageProfile, db.StorageClassName = "own:v2", new(int32(3)), resources, v1.StorageFast, nil
				db.ImagePullSecrets, db.NodeSelector = workload.ImagePullSecrets, workload.NodeSelector
			},
		},
		"ingress": {
			[]v1.Override{{Ingress: v1.IngressOverride{Host: "eu.example.com", ClassName: new("alb"), Annotations: map[string]string{"b": "2", "c": "2"}}}},
			func(s *v1.EcommerceAppSpec) {
				s.Ingress = v1.Ingress{Host: "eu.example.com", ClassName: new("alb"), Annotations: map[string]string{"a": "1", "b": "2", "c": "2"}}
			},
		},
	})
}

func TestOrder(t *testing.T) {
	t.Parallel()
	check(t, map[string]effect{
		"the last one wins": {
			[]v1.Override{{Image: "shop:v2", Replicas: new(int32(2))}, {Image: "shop:v3"}},
			func(s *v1.EcommerceAppSpec) { s.Image, s.Replicas = "shop:v3", new(int32(2)) },
		},
		"one for another cluster comes first": {
			[]v1.Override{{Selector: v1.ClusterCriteria{ClusterNames: []string{"us-1"}}, Image: "shop:v2"}, {Image: "shop:v3"}},
			func(s *v1.EcommerceAppSpec) { s.Image = "shop:v3" },
		},
		"patches come after the fields, and before the next override": {
			[]v1.Override{
				{Image: "shop:v2", JSONPatches: []v1.JSONPatch{operation("test", "/image", `"shop:v2"`), operation("replace", "/image", `"shop:v3"`)}},
				patched(operation("test", "/image", `"shop:v3"`), operation("add", "/backend/probes", `{"readinessPath":"/ready"}`)),
			},
			func(s *v1.EcommerceAppSpec) { s.Image, s.Backend.Probes.ReadinessPath = "shop:v3", "/ready" },
		},
		"each operation": {
			[]v1.Override{patched(
				operation("remove", "/backend/port", ""), operation("add", "/frontend/env/-", `{"name":"C"}`),
				v1.JSONPatch{Op: "move", From: "/ingress/annotations/a", Path: "/ingress/annotations/c"},
				v1.JSONPatch{Op: "copy", From: "/image", Path: "/backend/image"},
				operation("replace", "/database/storageClassName", `"other"`),
				operation("add", "/cloudConfig", `{"aws":{"ebs":{"kmsKeyID":"alias/eu"}}}`),
			)},
			func(s *v1.EcommerceAppSpec) {
				s.Backend.Port, s.Backend.Image = 0, "shop:v1"
				s.Frontend.Env = append(s.Frontend.Env, v1.EnvVar{Name: "C"})
				s.Ingress.Annotations = map[string]string{"c": "1", "b": "1"}
				s.Database.StorageClassName = new("other")
				s.CloudConfig.AWS = &v1.AWSConfig{EBS: v1.EBSConfig{KMSKeyID: "alias/eu"}}
			},
		},
	})
}

func TestNoDatabase(t *testing.T) {
	t.Parallel()
	given := v1.EcommerceAppSpec{Image: "shop:v1", Overrides: []v1.Override{
		{Database: v1.DatabaseOverride{Replicas: new(int32(3))}}, patched(operation("replace", "/image", `"shop:v2"`)),
	}}
	got, err := Effective(&given, member())
	if diff := cmp.Diff(v1.EcommerceAppSpec{Image: "shop:v2"}, got); err != nil || diff != "" {
		t.Errorf("%v, spec (-want +got):\n%s", err, diff)
	}
}

// TestShared gives a cluster its part of the replicas, unless a workload scales itself or has a number of its own.
func TestShared(t *testing.T) {
	t.Parallel()
	share := &v1.ReplicaShare{Frontend: new(int32(3)), Backend: new(int32(2))}
	for name, test := range map[string]struct {
		share        *v1.ReplicaShare
		given, wants func(*v1.EcommerceAppSpec)
	}{
		"not divided": {nil, func(*v1.EcommerceAppSpec) {}, func(*v1.EcommerceAppSpec) {}},
		"the total": {
			share, func(*v1.EcommerceAppSpec) {},
			func(s *v1.EcommerceAppSpec) { s.Replicas, s.Backend.Replicas = new(int32(3)), new(int32(2)) },
		},
		"the frontend has a number": {
			share, func(s *v1.EcommerceAppSpec) { s.Frontend.Replicas = new(int32(9)) },
			func(s *v1.EcommerceAppSpec) { s.Frontend.Replicas, s.Backend.Replicas = new(int32(3)), new(int32(2)) },
		},
		"the frontend scales itself": {
			share, func(s *v1.EcommerceAppSpec) { s.Frontend.Autoscaling = &v1.Autoscaling{} },
			func(s *v1.EcommerceAppSpec) { s.Backend.Replicas = new(int32(2)) },
		},
		"the backend scales itself": {
			share, func(s *v1.EcommerceAppSpec) { s.Backend.Autoscaling = &v1.Autoscaling{} },
			func(s *v1.EcommerceAppSpec) { s.Replicas = new(int32(3)) },
		},
		"nothing for one": {
			&v1.ReplicaShare{}, func(s *v1.EcommerceAppSpec) { s.Backend.Replicas = new(int32(4)) }, func(*v1.EcommerceAppSpec) {},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given := spec()
			test.given(&given)
			before, want := given.DeepCopy(), given.DeepCopy()
			test.wants(want)
			if diff := cmp.Diff(want, Shared(&given, test.share)); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, &given); diff != "" {
				t.Errorf("the spec was changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	doubled := []v1.JSONPatch{operation("add", "/ingress/annotations/large", `"`+strings.Repeat("a", 300_000)+`"`)}
	for _, key := range []string{"b", "c", "d", "e"} {
		doubled = append(doubled, v1.JSONPatch{Op: "copy", From: "/ingress/annotations/large", Path: "/ingress/annotations/" + key})
	}
	for want, o := range map[string]v1.Override{
		`spec.overrides[1].selector: parsing clusterSelector:`: {Selector: v1.ClusterCriteria{
			ClusterSelector: &v1.ClusterLabelSelector{MatchExpressions: []v1.ClusterRequirement{{Key: "a", Operator: "Equals"}}},
		}},
		`spec.overrides[1].jsonPatches[1]: test /image: the spec has another value there: `:                                                                                         patched(operation("test", "/image", `"shop:v2"`), operation("test", "/image", `"shop:v1"`)),
		`spec.overrides[1].jsonPatches[0]: replace /backend/probes/path: the spec has nothing there, correct the path`:                                                              patched(operation("replace", "/backend/probes/path", `"/"`)),
		`spec.overrides[1].jsonPatches[0]: remove /none: `:                                                                                                                          patched(operation("remove", "/none", "")),
		`spec.overrides[1].jsonPatches[0]: add /backend/port: value must be set`:                                                                                                    patched(operation("add", "/backend/port", "")),
		`spec.overrides[1].jsonPatches[0]: replace /frontend/env/-1: `:                                                                                                              patched(operation("replace", "/frontend/env/-1", `{"name":"C"}`)),
		`spec.overrides[1].jsonPatches[0]: merge /image: `:                                                                                                                          patched(operation("merge", "/image", `"a"`)),
		`spec.overrides[1].jsonPatches[3]: copy /ingress/annotations/d: the spec has more than 1048576 bytes`:                                                                       patched(doubled...),
		`spec.overrides[1].jsonPatches: the result is not a spec, correct paths and values: unknown field "backend.prot"`:                                                           patched(operation("add", "/backend/prot", "80")),
		`spec.overrides[1].jsonPatches: the result is not a spec, correct paths and values: json: cannot unmarshal string into Go struct field Workload.backend.port of type int32`: patched(operation("add", "/backend/port", `"http"`)),
		`spec.overrides[1].jsonPatches[0]: remove /placement: the spec has nothing there`:                                                                                           patched(operation("remove", "/placement", "")),
		`spec.overrides[1].jsonPatches: they change placement, which is the same in all clusters: change spec.placement`:                                                            patched(operation("add", "/placement", `{"regions":["r"]}`)),
		`spec.overrides[1].jsonPatches: they change deletion,`:                                                                                                                      patched(operation("add", "/deletion", `{"unreachableTimeout":"1h"}`)),
		`spec.overrides[1].jsonPatches: they change overrides,`:                                                                                                                     patched(operation("add", "/overrides", `[{}]`)),
		`spec.overrides[1].jsonPatches: they change propagate,`:                                                                                                                     patched(operation("add", "/propagate", `[{"kind":"Secret","name":"a"}]`)),
		`spec.overrides[1].jsonPatches: they change paused,`:                                                                                                                        patched(operation("add", "/paused", "true")),
		`spec.overrides[1].jsonPatches: they change database,`:                                                                                                                      patched(operation("remove", "/database", "")),
		`spec.overrides[1].jsonPatches: they change database.engine,`:                                                                                                               patched(operation("replace", "/database/engine", `"mysql"`)),
		`spec.overrides[1].jsonPatches: they change database.version,`:                                                                                                              patched(operation("replace", "/database/version", `"18.0"`)),
		`spec.overrides[1].jsonPatches: they change database.backup,`:                                                                                                               patched(operation("replace", "/database/backup/schedule", `"0 3 * * *"`)),
	} {
		given := spec()
		given.Overrides = []v1.Override{{Image: "shop:v2"}, o}
		got, err := Effective(&given, member())
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
		if diff := cmp.Diff(v1.EcommerceAppSpec{}, got); diff != "" {
			t.Errorf("%s: a spec was returned", want)
		}
	}
}

// BenchmarkEffective returns the specs of a shop's copies, in as many members and with as many overrides
// as a shop may have. One override selects each member, and has a patch.
func BenchmarkEffective(b *testing.B) {
	const members, overrides = 500, 50
	given := spec()
	for i := range overrides {
		o := patched(operation("replace", "/ingress/host", `"eu.example.com"`))
		o.Selector.Regions, o.Replicas = []string{fmt.Sprintf("region-%d", i)}, new(int32(i))
		given.Overrides = append(given.Overrides, o)
	}
	fleet := make([]*v1.MemberCluster, members)
	for i := range fleet {
		fleet[i] = member()
		fleet[i].Status.Region = fmt.Sprintf("region-%d", i%overrides)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, m := range fleet {
			if got, err := Effective(&given, m); err != nil || got.Ingress.Host != "eu.example.com" {
				b.Fatal(err, got.Ingress)
			}
		}
	}
}
