package v1_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/randfill"

	mysqlv1 "github.com/shopfleet/shopfleet/api/mysql/v1"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	webappv1 "github.com/shopfleet/shopfleet/api/webapp/v1"
)

// rounds is the number of random objects of each kind. The seeds are the numbers of the
// rounds, so that a failure can be reproduced.
const rounds = 300

func filler(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(0.3).NumElements(1, 3).MaxDepth(20).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewMilliQuantity(c.Int63n(1<<40), resource.DecimalSI)
		},
		func(at *metav1.MicroTime, c randfill.Continue) {
			*at = metav1.NewMicroTime(time.UnixMicro(c.Int63n(1 << 52)))
		},
		func(at *metav1.Time, c randfill.Continue) { *at = metav1.Unix(c.Int63n(1<<32), 0) },
		func(value *runtime.RawExtension, c randfill.Continue) { value.Raw = []byte(strconv.Itoa(c.Intn(9))) },
		func(raw *metav1.FieldsV1, _ randfill.Continue) { *raw = *metav1.NewFieldsV1(`{"f:spec":{}}`) },
	)
}

// TestRoundTrip encodes random objects as JSON and decodes them: it finds a field without a
// name, with the name of another, or omitted although it is set.
func TestRoundTrip(t *testing.T) {
	for name, fresh := range map[string]func() runtime.Object{
		"EcommerceApp":      func() runtime.Object { return &v1.EcommerceApp{} },
		"EcommerceAppList":  func() runtime.Object { return &v1.EcommerceAppList{} },
		"MemberCluster":     func() runtime.Object { return &v1.MemberCluster{} },
		"MemberClusterList": func() runtime.Object { return &v1.MemberClusterList{} },
		"CloudAccount":      func() runtime.Object { return &v1.CloudAccount{} },
		"CloudAccountList":  func() runtime.Object { return &v1.CloudAccountList{} },
		"Backup":            func() runtime.Object { return &v1.Backup{} },
		"BackupList":        func() runtime.Object { return &v1.BackupList{} },
		"Restore":           func() runtime.Object { return &v1.Restore{} },
		"RestoreList":       func() runtime.Object { return &v1.RestoreList{} },
		"Plan":              func() runtime.Object { return &v1.Plan{} },
		"PlanList":          func() runtime.Object { return &v1.PlanList{} },
		"WebApp":            func() runtime.Object { return &webappv1.WebApp{} },
		"MySQLCluster":      func() runtime.Object { return &mysqlv1.MySQLCluster{} },
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range int64(rounds) {
				object := fresh()
				filler(seed).Fill(object)
				raw, err := json.Marshal(object)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				back := fresh()
				if err := json.Unmarshal(raw, back); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if !equality.Semantic.DeepEqual(object, back) {
					t.Fatalf("seed %d (-written +read):\n%s", seed, cmp.Diff(object, back))
				}
				if !equality.Semantic.DeepEqual(object, object.DeepCopyObject()) {
					t.Fatalf("seed %d: the copy differs", seed)
				}
			}
		})
	}
}

// TestEmpty checks that unset fields are not encoded, because server-side apply would take
// them as desired.
func TestEmpty(t *testing.T) {
	for want, object := range map[string]any{
		`{"metadata":{},"spec":{}}`: &v1.EcommerceApp{},
		`{"metadata":{}}`:           &v1.MemberCluster{},
		`{"metadata":{},"spec":{"appRef":{"name":""},"clusterRef":{"name":""}}}`: &v1.Backup{},
		`{"metadata":{},"spec":{"backupRef":{"name":""}}}`:                       &v1.Restore{},
		`{"metadata":{},"spec":{"manifest":"","requester":{"username":""}}}`:     &v1.Plan{},
		`{"metadata":{},"spec":{"provider":"","credentials":{"type":""}}}`:       &v1.CloudAccount{},
		`{"metadata":{},"spec":{"image":""}}`:                                    &webappv1.WebApp{},
		`{"metadata":{},"spec":{"version":"","storage":{"size":""}}}`:            &mysqlv1.MySQLCluster{},
	} {
		if got, err := json.Marshal(object); err != nil || string(got) != want {
			t.Errorf("%T is written as %s, %v; want %s", object, got, err, want)
		}
	}
}

func TestScheme(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{
		"EcommerceApp", "EcommerceAppList", "MemberCluster", "MemberClusterList", "CloudAccount", "CloudAccountList",
		"Backup", "BackupList", "Restore", "RestoreList", "Plan", "PlanList",
	} {
		object, err := scheme.New(v1.GroupVersion.WithKind(kind))
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if got := fmt.Sprintf("%T", object); got != "*v1."+kind {
			t.Errorf("%s is a %s", kind, got)
		}
	}
}

func TestStorageQuantity(t *testing.T) {
	got, err := (&v1.Database{Storage: "100Gi"}).StorageQuantity()
	if want := resource.MustParse("102400Mi"); err != nil || got.Cmp(want) != 0 {
		t.Errorf("100Gi = %s, %v", got.String(), err)
	}
	if _, err := (&v1.Database{Storage: "much"}).StorageQuantity(); err == nil {
		t.Error("a size that is none was accepted")
	}
}
