package api_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/shopfleet/shopfleet/e2e/fleet/binaries"
)

// decodeJSON decodes integers as integers.
func decodeJSON(raw []byte, into any) error { return utiljson.Unmarshal(raw, into) }

// kubectl runs kubectl as an administrator and returns its output.
func (s *server) kubectl(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	programs, err := binaries.Ensure(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	arguments = append([]string{"--kubeconfig", s.cluster.AdminKubeconfig(), "--cache-dir", filepath.Join(t.TempDir(), "cache")}, arguments...)
	output, err := exec.CommandContext(t.Context(), programs.Path(binaries.Kubectl), arguments...).CombinedOutput()
	return strings.TrimSpace(string(output)), err
}

// testKubectl applies the samples with kubectl.
func (s *server) testKubectl(t *testing.T) {
	s.namespace(t, "kubectl")
	// The samples set a namespace; this test uses one of its own.
	file := filepath.Join(t.TempDir(), "app.yaml")
	moved := bytes.Replace(ecommerceApps().sample, []byte("namespace: production"), []byte("namespace: kubectl"), 1)
	if err := os.WriteFile(file, moved, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		arguments string
		want      string
	}{
		{"apply --validate=strict -f " + file, "ecommerceapp.ecommerce.io/my-ecommerce-app created"},
		{"apply --validate=strict -f " + file, "ecommerceapp.ecommerce.io/my-ecommerce-app unchanged"},
		{"diff -f " + file, ""},
		{"get eapp -n kubectl -o name", "ecommerceapp.ecommerce.io/my-ecommerce-app"},
		{"get eapp my-ecommerce-app -n kubectl -o jsonpath={.status.phase}", "Pending"},
		{"scale ecommerceapp/my-ecommerce-app -n kubectl --replicas=5", "ecommerceapp.ecommerce.io/my-ecommerce-app scaled"},
		{"get eapp my-ecommerce-app -n kubectl -o jsonpath={.spec.frontend.replicas}", "5"},
	} {
		if got, err := s.kubectl(t, strings.Fields(step.arguments)...); err != nil || got != step.want {
			t.Fatalf("kubectl %s: %q, %v; want %q", step.arguments, got, err, step.want)
		}
	}
	got, err := s.kubectl(t, "explain", "ecommerceapp.spec.database.replicas")
	if want := "replicas is the number of database pods. 1 to 9; the default is 1."; err != nil || !strings.Contains(got, want) {
		t.Errorf("kubectl explain: %v\n%s\nwant %q in it", err, got, want)
	}
}

// testSelectors selects backups by application and cluster on the API server.
func (s *server) testSelectors(t *testing.T) {
	s.namespace(t, "selectors")
	for name, of := range map[string][2]string{
		"a": {"shop", "eu-1"}, "b": {"shop", "us-1"}, "c": {"bakery", "eu-1"},
	} {
		s.create(t.Context(), t, backups(), edits{
			"metadata.namespace": "selectors", "metadata.name": name, "spec.appRef.name": of[0], "spec.clusterRef.name": of[1],
		})
	}
	for selector, want := range map[string]string{
		"spec.appRef.name=shop":                           "a b",
		"spec.clusterRef.name=eu-1":                       "a c",
		"spec.appRef.name=shop,spec.clusterRef.name=eu-1": "a",
		"spec.appRef.name!=shop":                          "c",
		"spec.appRef.name=shop,metadata.namespace=all":    "",
	} {
		got, err := s.kubectl(t, "get", "ebk", "-n", "selectors", "--field-selector", selector, "-o", "jsonpath={.items[*].metadata.name}")
		if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", selector, got, err, want)
		}
	}
	const says = `field label not supported: spec.method`
	if got, err := s.kubectl(t, "get", "ebk", "-n", "selectors", "--field-selector", "spec.method=Dump"); err == nil || !strings.Contains(got, says) {
		t.Errorf("by another field: %q, %v; want %q", got, err, says)
	}
}
