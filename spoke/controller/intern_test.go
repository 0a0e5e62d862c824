package controller

import (
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// decodedChild returns a child of an application as a decoder makes it: sharing nothing with others.
func decodedChild(app, name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shops", Name: name, UID: types.UID(name), Finalizers: []string{"kubernetes.io/pvc-protection"},
			Labels: map[string]string{v1.InstanceLabel: app, v1.ManagedByLabel: v1.ManagedBy},
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: v1.GroupVersion.String(), Kind: "EcommerceApp", Name: app, UID: types.UID(app), Controller: new(true)},
			},
		},
		Spec: corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		}},
	}
}

func cached(t *testing.T, s slimmer, child *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	t.Helper()
	want := child.DeepCopy()
	object, err := s.child(child)
	if err != nil {
		t.Fatal(err)
	}
	kept, ok := object.(*corev1.PersistentVolumeClaim)
	if !ok {
		t.Fatalf("the claim becomes %T", object)
	}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("cached claim (-want +got):\n%s", diff)
	}
	return kept
}

// identities returns where the parts of a claim are in memory.
func identities(c *corev1.PersistentVolumeClaim) map[string]uintptr {
	return map[string]uintptr{
		"labels": reflect.ValueOf(c.Labels).Pointer(), "owners": reflect.ValueOf(c.OwnerReferences).Pointer(),
		"finalizers": reflect.ValueOf(c.Finalizers).Pointer(), "requests": reflect.ValueOf(c.Spec.Resources.Requests).Pointer(),
	}
}

// TestCachedObjectsShare checks that equal parts of cached objects are in memory once, and that different parts stay
// different.
func TestCachedObjectsShare(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*corev1.PersistentVolumeClaim)
		differ []string
	}{
		"equal": {change: func(*corev1.PersistentVolumeClaim) {}},
		"label": {func(c *corev1.PersistentVolumeClaim) { c.Labels["a"] = "b" }, []string{"labels"}},
		"swapped labels": {func(c *corev1.PersistentVolumeClaim) {
			c.Labels = map[string]string{v1.InstanceLabel: v1.ManagedBy, v1.ManagedByLabel: "shop"}
		}, []string{"labels"}},
		"owner": {func(c *corev1.PersistentVolumeClaim) { c.OwnerReferences[0].UID = "2" }, []string{"owners"}},
		"what the hash of an owner leaves out": {
			func(c *corev1.PersistentVolumeClaim) { c.OwnerReferences[0].Controller = new(false) }, []string{"owners"},
		},
		"finalizer":    {func(c *corev1.PersistentVolumeClaim) { c.Finalizers[0] = "other" }, []string{"finalizers"}},
		"no finalizer": {func(c *corev1.PersistentVolumeClaim) { c.Finalizers = nil }, []string{"finalizers"}},
		"size": {func(c *corev1.PersistentVolumeClaim) {
			c.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Gi")
		}, []string{"requests"}},
		"format of a size": {func(c *corev1.PersistentVolumeClaim) {
			c.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("1073741824")
		}, []string{"requests"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slim := newSlimmer()
			other := decodedChild("shop", "b")
			tt.change(other)
			one, two := identities(cached(t, slim, decodedChild("shop", "a"))), identities(cached(t, slim, other))
			want := maps.Clone(one)
			for _, part := range tt.differ {
				if one[part] == two[part] {
					t.Errorf("%s are shared", part)
				}
				want[part] = two[part]
			}
			if diff := cmp.Diff(want, two); diff != "" {
				t.Errorf("parts that are not shared (-want +got):\n%s", diff)
			}
			if third := identities(cached(t, newSlimmer(), decodedChild("shop", "a"))); third["labels"] == one["labels"] {
				t.Error("another cache shares them")
			}
		})
	}
}

// TestInternerIsBounded checks that values that no object uses are dropped, and used ones are kept.
func TestInternerIsBounded(t *testing.T) {
	t.Parallel()
	slim := newSlimmer()
	stays := cached(t, slim, decodedChild("stays", "a"))
	for i := range 20 * minInterned {
		cached(t, slim, decodedChild(fmt.Sprint("leaves-", i), "a"))
		if i%minInterned == 0 {
			runtime.GC()
		}
	}
	// Each application adds two values, and garbage is collected each minInterned applications.
	if got := len(slim.shared.values); got > 8*minInterned {
		t.Errorf("%d values are kept, want at most %d", got, 8*minInterned)
	}
	if again := cached(t, slim, decodedChild("stays", "b")); identities(again)["labels"] != identities(stays)["labels"] {
		t.Error("what is in use was dropped")
	}
	runtime.KeepAlive(stays)
}

// TestInternerKeepsWhatIsPassedOn checks that a value stays while objects use it, also if the first of them is gone.
func TestInternerKeepsWhatIsPassedOn(t *testing.T) {
	t.Parallel()
	slim := newSlimmer()
	before := identities(cached(t, slim, decodedChild("shop", "a")))
	runtime.GC() // The first version is replaced by the next one.
	next := cached(t, slim, decodedChild("shop", "a"))
	runtime.GC()
	for i := range 2 * minInterned {
		cached(t, slim, decodedChild(fmt.Sprint("other-", i), "a"))
	}
	if again := cached(t, slim, decodedChild("shop", "b")); identities(again)["labels"] != before["labels"] {
		t.Error("what is in use was dropped")
	}
	runtime.KeepAlive(next)
}

// TestSharingIsConcurrent lets the informers of several kinds share at the same time.
func TestSharingIsConcurrent(t *testing.T) {
	t.Parallel()
	slim := newSlimmer()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 2 * minInterned {
				child := cached(t, slim, decodedChild(fmt.Sprint(i), "a"))
				if child.Labels[v1.InstanceLabel] != fmt.Sprint(i) {
					t.Errorf("the labels are %v, want those of %d", child.Labels, i)
				}
			}
		})
	}
	all.Wait()
}

// TestCopiesShareAmounts checks that the resources of equal shops are in memory once.
func TestCopiesShareAmounts(t *testing.T) {
	t.Parallel()
	transform := NewTransform()
	requests := func(name string) [2]uintptr {
		app := apitest.Seed()
		app.Name, app.UID, app.ManagedFields = name, types.UID(name), []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
		want := app.DeepCopy()
		want.ManagedFields = nil
		object, err := transform(app)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, object); diff != "" {
			t.Errorf("cached copy (-want +got):\n%s", diff)
		}
		return [2]uintptr{
			reflect.ValueOf(app.Spec.Frontend.Resources.Requests).Pointer(), reflect.ValueOf(app.Spec.Backend.Resources.Limits).Pointer(),
		}
	}
	one := requests("a")
	if two := requests("b"); one != two || one[0] == 0 || one[1] == 0 {
		t.Errorf("resources are at %v and %v", one, two)
	}
}
