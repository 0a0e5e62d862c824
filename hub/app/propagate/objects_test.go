package propagate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

func secret(change ...func(*corev1.Secret)) *corev1.Secret {
	s := empty(v1.PropagatedSecret).(*corev1.Secret)
	s.Namespace, s.Name = "shops", "registry"
	s.Type, s.Data = corev1.SecretTypeOpaque, map[string][]byte{"password": []byte("hunter2")}
	for _, c := range change {
		c(s)
	}
	return s
}

func configMap() *corev1.ConfigMap {
	c := empty(v1.PropagatedConfigMap).(*corev1.ConfigMap)
	c.Namespace, c.Name = "shops", "settings"
	c.Data, c.BinaryData = map[string]string{"a": "b"}, map[string][]byte{"c": {1}}
	return c
}

func copied(uid types.UID) *v1.EcommerceApp {
	return &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shops", Name: "shop", UID: uid, Labels: map[string]string{v1.ClusterLabel: "eu-1"},
	}}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for kind, want := range map[corev1.SecretType]bool{
		"": false, corev1.SecretTypeOpaque: false, corev1.SecretTypeDockerConfigJson: false, corev1.SecretTypeTLS: false, "example.com/custom": false,
		corev1.SecretTypeServiceAccountToken: true, corev1.SecretTypeBootstrapToken: true, "helm.sh/release.v1": true,
	} {
		if got := refused(&corev1.Secret{Type: kind}); (got != "") != want {
			t.Errorf("type %q: refused because %q, want %t", kind, got, want)
		}
	}
	for _, label := range []string{v1.MemberClusterLabel, v1.CloudAccountLabel} {
		if refused(secret(func(s *corev1.Secret) { s.Labels = map[string]string{label: "true"} })) == "" {
			t.Errorf("a Secret with the label %s may be copied", label)
		}
	}
	if got := refused(configMap()); got != "" {
		t.Errorf("a ConfigMap is refused because %q", got)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	version := func(o Object) string {
		v, err := versionOf(o)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	first := version(secret())
	for name, tt := range map[string]struct {
		object Object
		same   bool
	}{
		"metadata":         {secret(func(s *corev1.Secret) { s.ResourceVersion, s.Labels = "2", map[string]string{"a": "b"} }), true},
		"immutable":        {secret(func(s *corev1.Secret) { s.Immutable = new(true) }), true},
		"the default type": {secret(func(s *corev1.Secret) { s.Type = "" }), true},
		"a value":          {secret(func(s *corev1.Secret) { s.Data = map[string][]byte{"password": []byte("hunter3")} }), false},
		"a key":            {secret(func(s *corev1.Secret) { s.Data["user"] = nil }), false},
		"the type":         {secret(func(s *corev1.Secret) { s.Type = "example.com/custom" }), false},
		"no Secret":        {configMap(), false},
	} {
		if got := version(tt.object); (got == first) != tt.same {
			t.Errorf("%s: the version is the same: %t, want %t", name, got == first, tt.same)
		}
	}
}

func TestForCopy(t *testing.T) {
	t.Parallel()
	source := secret(func(s *corev1.Secret) {
		s.ResourceVersion, s.UID, s.Immutable = "7", "source", new(true)
		s.Labels, s.Annotations = map[string]string{"team": "a"}, map[string]string{"a": "b"}
		s.OwnerReferences = []metav1.OwnerReference{{UID: "x"}}
		s.Type = ""
	})
	owner := func(name string, uid types.UID) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "ecommerce.io/v1", Kind: "EcommerceApp", Name: name, UID: uid}
	}
	want := secret(func(s *corev1.Secret) {
		s.Labels = map[string]string{v1.ManagedByLabel: v1.ManagedBy, v1.ClusterLabel: "eu-1", v1.PropagatedLabel: "true"}
		s.OwnerReferences = []metav1.OwnerReference{owner("shop", "u-2")}
	})
	if diff := cmp.Diff(Object(want), forCopy(source, copied("u-2"), nil)); diff != "" {
		t.Errorf("a new object (-want +got):\n%s", diff)
	}
	live := secret(func(s *corev1.Secret) {
		s.OwnerReferences = []metav1.OwnerReference{owner("shop", "u-former"), owner("other", "u-1"), {APIVersion: "apps/v1", Kind: "Deployment", Name: "a", UID: "d"}}
	})
	want.OwnerReferences = []metav1.OwnerReference{owner("other", "u-1"), owner("shop", "u-2")}
	if diff := cmp.Diff(Object(want), forCopy(source, copied("u-2"), live)); diff != "" {
		t.Errorf("an object of another copy too (-want +got):\n%s", diff)
	}
	c := forCopy(configMap(), copied("u-2"), nil).(*corev1.ConfigMap)
	if diff := cmp.Diff(configMap().Data, c.Data) + cmp.Diff(configMap().BinaryData, c.BinaryData); diff != "" {
		t.Errorf("a ConfigMap (-want +got):\n%s", diff)
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	intent := forCopy(secret(), copied("u"), nil)
	for name, tt := range map[string]struct {
		change func(*corev1.Secret)
		want   bool
	}{
		"as written":         {func(*corev1.Secret) {}, true},
		"a label of others":  {func(s *corev1.Secret) { s.Labels["team"] = "a" }, true},
		"an owner of others": {func(s *corev1.Secret) { s.OwnerReferences = append(s.OwnerReferences, metav1.OwnerReference{UID: "x"}) }, true},
		"another value":      {func(s *corev1.Secret) { s.Data["password"] = []byte("x") }, false},
		"another key":        {func(s *corev1.Secret) { s.Data["user"] = []byte("x") }, false},
		"no label":           {func(s *corev1.Secret) { delete(s.Labels, v1.ManagedByLabel) }, false},
		"not propagated":     {func(s *corev1.Secret) { delete(s.Labels, v1.PropagatedLabel) }, false},
		"no owner":           {func(s *corev1.Secret) { s.OwnerReferences = nil }, false},
		"another type":       {func(s *corev1.Secret) { s.Type = "example.com/custom" }, false},
	} {
		live := intent.DeepCopyObject().(*corev1.Secret)
		tt.change(live)
		if got := matches(live, intent); got != tt.want {
			t.Errorf("%s: matches is %t, want %t", name, got, tt.want)
		}
	}
}

// TestActionFor checks what is done about an object in a member, and that only the annotation lets the hub write one of
// others.
func TestActionFor(t *testing.T) {
	t.Parallel()
	intent := forCopy(secret(), copied("u"), nil)
	foreign := func(policy v1.AdoptPolicy, password string) func(*corev1.Secret) {
		return func(s *corev1.Secret) {
			s.Labels, s.OwnerReferences = nil, nil
			s.Annotations, s.Data = map[string]string{v1.AdoptAnnotation: string(policy)}, map[string][]byte{"password": []byte(password)}
		}
	}
	for name, tt := range map[string]struct {
		change func(*corev1.Secret)
		want   v1.PendingAction
		// reason is that of the error, retried whether it passes by itself.
		reason  string
		retried bool
	}{
		"as written":                {change: func(*corev1.Secret) {}},
		"another value":             {change: func(s *corev1.Secret) { s.Data = nil }, want: v1.PendingUpdate},
		"another type":              {change: func(s *corev1.Secret) { s.Type = "example.com/custom" }, want: v1.PendingRecreate},
		"being deleted":             {change: func(s *corev1.Secret) { s.DeletionTimestamp = new(metav1.Unix(1, 0)) }, retried: true},
		"of others":                 {change: foreign("", "hunter2"), reason: v1.ReasonConflict},
		"to be adopted":             {change: foreign(v1.AdoptAlways, "theirs"), want: v1.PendingUpdate},
		"to be adopted if the same": {change: foreign(v1.AdoptIfNoDiff, "hunter2"), want: v1.PendingUpdate},
		"to be adopted, not same":   {change: foreign(v1.AdoptIfNoDiff, "theirs"), reason: v1.ReasonConflict},
		"of a controller": {change: func(s *corev1.Secret) {
			foreign(v1.AdoptAlways, "")(s)
			s.OwnerReferences = []metav1.OwnerReference{{Controller: new(true)}}
		}, reason: v1.ReasonConflict},
		"to be adopted, and deleted": {change: func(s *corev1.Secret) {
			foreign(v1.AdoptAlways, "")(s)
			s.DeletionTimestamp = new(metav1.Unix(1, 0))
		}, retried: true},
	} {
		live := intent.DeepCopyObject().(*corev1.Secret)
		tt.change(live)
		got, err := actionFor(live, intent)
		if d := apierror.Decide(err); got != tt.want || d.Reason != tt.reason || (d.Class == apierror.Conflict) != tt.retried {
			t.Errorf("%s: %q, %v, want %q, %q", name, got, err, tt.want, tt.reason)
		}
	}
	if got, err := actionFor(nil, intent); got != v1.PendingCreate || err != nil {
		t.Errorf("a missing object: %q, %v", got, err)
	}
}

func TestRecorded(t *testing.T) {
	t.Parallel()
	a, b := v1.PropagatedObject{Kind: v1.PropagatedSecret, Name: "a"}, v1.PropagatedObject{Kind: v1.PropagatedConfigMap, Name: "b"}
	live := copied("u")
	live.Annotations = map[string]string{v1.PropagatedAnnotation: Record(a, b, a)}
	if got, want := live.Annotations[v1.PropagatedAnnotation], "ConfigMap/b,Secret/a"; got != want {
		t.Errorf("the annotation is %q, want %q", got, want)
	}
	live.Annotations[v1.PropagatedAnnotation] += ",Secret,Secret/,Pod/c,,"
	if diff := cmp.Diff([]v1.PropagatedObject{b, a}, Recorded(live)); diff != "" {
		t.Errorf("what is recorded (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]v1.PropagatedObject{b}, Leftover(live, []v1.PropagatedObject{a})); diff != "" {
		t.Errorf("what is left over (-want +got):\n%s", diff)
	}
	if left := Leftover(copied("u"), nil); len(left) > 0 || Record() != "" {
		t.Errorf("without an annotation %v is left over", left)
	}
}
