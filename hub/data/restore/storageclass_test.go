package restore

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// classOf returns a StorageClass, which is the default one since a time, or is not.
func classOf(name string, defaultSince int64) *storagev1.StorageClass {
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "driver-of-" + name}
	if defaultSince > 0 {
		class.CreationTimestamp = metav1.NewTime(time.Unix(defaultSince, 0))
		class.Annotations = map[string]string{defaultAnnotation: "true"}
	}
	return class
}

// TestFindClass checks which class a restored volume gets: that of the claims, of the copy, of the application or, where
// none is asked for, the newest default one of the cluster.
func TestFindClass(t *testing.T) {
	t.Parallel()
	member := &v1.MemberCluster{Status: v1.MemberClusterStatus{Provider: v1.ProviderOther}}
	claim := func(class *string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: class}}
	}
	app := func(class *string) *v1.EcommerceApp {
		return &v1.EcommerceApp{Spec: v1.EcommerceAppSpec{Database: &v1.Database{StorageClassName: class}}}
	}
	stateless := &v1.EcommerceApp{}
	defaults := []client.Object{classOf("older", 10), classOf("newer", 20), classOf("oldest", 5), classOf("none", 0)}
	for name, tt := range map[string]struct {
		wanted  wantedClass
		classes []client.Object
		want    string
		known   bool
	}{
		"nothing is known":                {wantedClass{}, defaults, "newer", true},
		"no default":                      {wantedClass{}, defaults[3:], "", false},
		"of a claim":                      {wantedClass{claims: []*corev1.PersistentVolumeClaim{claim(nil), claim(new("")), claim(new("older"))}, copied: app(new("oldest"))}, defaults, "older", true},
		"of a copy":                       {wantedClass{copied: app(new("oldest")), app: app(new("older"))}, defaults, "oldest", true},
		"of a copy that asks for none":    {wantedClass{copied: app(nil), app: app(new("older"))}, defaults, "newer", true},
		"of a copy without a database":    {wantedClass{copied: stateless, app: app(new("older"))}, defaults, "newer", true},
		"of the application":              {wantedClass{app: app(new("older"))}, defaults, "older", true},
		"of one that asks for none":       {wantedClass{app: app(nil)}, defaults, "newer", true},
		"of one without a database":       {wantedClass{app: stateless}, defaults, "newer", true},
		"a class that does not exist now": {wantedClass{app: app(new("gone"))}, defaults, "gone", false},
	} {
		tt.wanted.member = member
		reader := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(tt.classes...).Build()
		got, err := findClass(t.Context(), reader, tt.wanted)
		if err != nil || got.name != tt.want || (got.provisioner != "") != tt.known || tt.known && got.provisioner != "driver-of-"+tt.want {
			t.Errorf("%s: %+v, %v; want %q", name, got, err, tt.want)
		}
	}
}

// TestServes checks that a pod serves if it is ready, and not if that is not known.
func TestServes(t *testing.T) {
	t.Parallel()
	type conditions = []corev1.PodCondition
	for name, tt := range map[string]struct {
		of   conditions
		want bool
	}{
		"nothing is known": {nil, false},
		"another":          {conditions{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}, false},
		"ready":            {conditions{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse}, {Type: corev1.PodReady, Status: corev1.ConditionTrue}}, true},
		"not ready":        {conditions{{Type: corev1.PodReady, Status: corev1.ConditionFalse}, {Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}, false},
	} {
		if got := serves(&corev1.Pod{Status: corev1.PodStatus{Conditions: tt.of}}); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
