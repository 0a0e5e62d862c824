package api_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/config/samples"
)

// testSamples applies the files unchanged.
func (s *server) testSamples(t *testing.T) {
	t.Run("every file", s.testEveryFile)
	t.Run("account with keys", s.testAccountWithKeys)
	t.Run("account with a bucket", func(t *testing.T) {
		if err := s.cluster.Apply(t.Context(), samples.CloudAccountBucket()); err != nil {
			t.Fatal(err)
		}
	})
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) { s.testSample(t, k) })
		t.Run(k.name+" with an unknown field", func(t *testing.T) { s.testUnknownField(t, k) })
	}
}

// testEveryFile applies the whole folder, as a user may.
func (s *server) testEveryFile(t *testing.T) {
	s.namespace(t, config.Namespace)
	const folder = "../../config/samples"
	files, err := filepath.Glob(folder + "/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	for _, file := range files {
		output, err := s.kubectl(t, "apply", "--server-side", "--dry-run=server", "--validate=strict", "--warnings-as-errors", "-f", file)
		if err != nil || output == "" {
			t.Errorf("%s: %v: %s", file, err, output)
		}
	}
}

// testSample applies the kind's sample twice and expects that the second time changes
// nothing.
func (s *server) testSample(t *testing.T, k kind) {
	t.Helper()
	created := s.apply(t, k)
	if created.GetGeneration() != 1 {
		t.Errorf("generation = %d, want 1", created.GetGeneration())
	}
	first := s.settle(t, k, created)
	if again := s.apply(t, k); !cmp.Equal(first, again) {
		t.Errorf("applying it a second time changed it (-first +second):\n%s", cmp.Diff(first, again))
	}
	if dry := s.apply(t, k, metav1.DryRunAll); !cmp.Equal(first, dry) {
		t.Errorf("a dry run shows a difference where there is none (-live +dry run):\n%s", cmp.Diff(first, dry))
	}
	live, err := s.resource(k, first.GetNamespace()).Get(t.Context(), first.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(first, live) {
		t.Errorf("what is read is not what was answered (-answered +read):\n%s", cmp.Diff(first, live))
	}
}

// testUnknownField expects that a misspelled field is refused by name.
func (s *server) testUnknownField(t *testing.T, k kind) {
	t.Helper()
	object := k.object(t, edits{"metadata.name": "unknown", "spec.databse": map[string]any{}})
	_, err := s.resource(k, object.GetNamespace()).Create(t.Context(), object, metav1.CreateOptions{
		DryRun:          []string{metav1.DryRunAll},
		FieldValidation: metav1.FieldValidationStrict,
	})
	const want = `strict decoding error: unknown field "spec.databse"`
	if !apierrors.IsBadRequest(err) || err.Error() != k.name+` in version "v1" cannot be handled as a `+k.name+": "+want {
		t.Errorf("err = %v, want one that ends in %q", err, want)
	}
}

// testAccountWithKeys applies the sample of a Secret and an account that refers to it.
func (s *server) testAccountWithKeys(t *testing.T) {
	s.namespace(t, config.Namespace)
	if err := s.cluster.Apply(t.Context(), samples.CloudAccountSecret()); err != nil {
		t.Fatal(err)
	}
	k := cloudAccounts()
	account, err := s.resource(k, "").Get(t.Context(), "aws-with-keys", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	name, ok := valueAt(t, account, "spec.credentials.secretRef.name").(string)
	if !ok {
		t.Fatalf("the account names no Secret: %v", account.Object)
	}
	secret, err := s.client.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(config.Namespace).
		Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("the account's Secret: %v", err)
	}
	if secret.GetLabels()[v1.CloudAccountLabel] != "true" {
		t.Errorf("labels %v keep the hub from reading the Secret", secret.GetLabels())
	}
}

// settle updates an object without a change and returns it. The first write after the
// creation stores the default of the status for every client, and changes the resource
// version once. In a cluster with a hub or a spoke that write adds the finalizer.
func (s *server) settle(t *testing.T, k kind, created *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	settled, err := s.resource(k, created.GetNamespace()).Update(t.Context(), created, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := created.DeepCopy()
	want.SetResourceVersion(settled.GetResourceVersion())
	if diff := cmp.Diff(want, settled); diff != "" {
		t.Fatalf("an update without a change is one (-want +got):\n%s", diff)
	}
	return settled
}

// apply sends the kind's sample unchanged under strict validation.
func (s *server) apply(t *testing.T, k kind, dryRun ...string) *unstructured.Unstructured {
	t.Helper()
	object := k.object(t)
	applied, err := s.resource(k, object.GetNamespace()).Patch(t.Context(), object.GetName(), types.ApplyPatchType, k.sample,
		metav1.PatchOptions{FieldManager: "people", FieldValidation: metav1.FieldValidationStrict, DryRun: dryRun})
	if err != nil {
		t.Fatal(err)
	}
	return applied
}

// defaultCase is the spec of an object before and after defaulting.
type defaultCase struct {
	kind         kind
	given, want  map[string]any
	wantedStatus any
}

// defaultCases returns the smallest valid objects.
func defaultCases() map[string]defaultCase {
	type m = map[string]any
	pending := m{"phase": "Pending"}
	return map[string]defaultCase{
		"EcommerceApp": {
			kind:         ecommerceApps(),
			given:        m{"image": "shop:v1"},
			want:         m{"image": "shop:v1"},
			wantedStatus: pending,
		},
		"EcommerceApp with a database": {
			kind:         ecommerceApps(),
			given:        m{"image": "shop:v1", "database": m{"engine": "mysql", "version": "8.4.2", "storage": "1Gi"}},
			want:         m{"image": "shop:v1", "database": m{"engine": "mysql", "version": "8.4.2", "storage": "1Gi", "replicas": int64(1)}},
			wantedStatus: pending,
		},
		"MemberCluster": {kind: memberClusters(), given: m{}, want: m{}},
		"CloudAccount": {
			kind:  cloudAccounts(),
			given: m{"provider": "gcp", "credentials": m{"type": "Ambient"}, "gcp": m{"project": "shop-prod"}},
			want:  m{"provider": "gcp", "credentials": m{"type": "Ambient"}, "gcp": m{"project": "shop-prod"}},
		},
		"Backup": {
			kind:         backups(),
			given:        m{"appRef": named("shop"), "clusterRef": named("eu-1")},
			want:         m{"appRef": named("shop"), "clusterRef": named("eu-1"), "method": "Snapshot", "deletion": "Retain"},
			wantedStatus: pending,
		},
		"Restore": {
			kind:         restores(),
			given:        m{"backupRef": named("monday")},
			want:         m{"backupRef": named("monday")},
			wantedStatus: pending,
		},
		"WebApp": {
			kind:         webApps(),
			given:        m{"image": "nginx:1.25"},
			want:         m{"image": "nginx:1.25", "replicas": int64(1), "port": int64(80)},
			wantedStatus: pending,
		},
		"MySQLCluster": {
			kind:         mySQLClusters(),
			given:        m{"version": "8.4.2", "storage": m{"size": "1Gi"}},
			want:         m{"version": "8.4.2", "storage": m{"size": "1Gi"}, "replicas": int64(1)},
			wantedStatus: pending,
		},
	}
}

// testDefaults compares the whole spec of the smallest objects with the stored one.
func (s *server) testDefaults(t *testing.T) {
	for name, test := range defaultCases() {
		t.Run(name, func(t *testing.T) {
			s.namespace(t, "defaults")
			created := s.create(t.Context(), t, test.kind, edits{
				"metadata.generateName": "minimal-", "metadata.name": "", "spec": test.given,
			}, inNamespace(test.kind, "defaults"))
			if diff := cmp.Diff(any(test.want), valueAt(t, created, "spec")); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
			live, err := s.resource(test.kind, "defaults").Get(t.Context(), created.GetName(), metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for what, object := range map[string]*unstructured.Unstructured{"answered": created, "read": live} {
				if diff := cmp.Diff(test.wantedStatus, valueAt(t, object, "status")); diff != "" {
					t.Errorf("status as %s (-want +got):\n%s", what, diff)
				}
			}
		})
	}
}

// inNamespace sets the namespace of objects of namespaced kinds.
func inNamespace(k kind, namespace string) edits {
	if k.clusterScoped {
		return nil
	}
	return edits{"metadata.namespace": namespace}
}
