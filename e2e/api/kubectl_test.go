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

// decodeJSON keeps whole numbers whole.
func decodeJSON(raw []byte, into any) error { return utiljson.Unmarshal(raw, into) }

// testKubectl uses the samples as people do.
func (s *server) testKubectl(t *testing.T) {
	programs, err := binaries.Ensure(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	s.namespace(t, "kubectl")
	kubectl := func(t *testing.T, arguments ...string) (string, error) {
		t.Helper()
		arguments = append([]string{"--kubeconfig", s.cluster.AdminKubeconfig(), "--cache-dir", filepath.Join(t.TempDir(), "cache")}, arguments...)
		output, err := exec.CommandContext(t.Context(), programs.Path(binaries.Kubectl), arguments...).CombinedOutput()
		return strings.TrimSpace(string(output)), err
	}
	// The samples name their namespace; here they move to one of their own.
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
		if got, err := kubectl(t, strings.Fields(step.arguments)...); err != nil || got != step.want {
			t.Fatalf("kubectl %s: %q, %v; want %q", step.arguments, got, err, step.want)
		}
	}
	got, err := kubectl(t, "explain", "ecommerceapp.spec.database.replicas")
	if want := "replicas is the number of database pods. 1 to 9; the default is 1."; err != nil || !strings.Contains(got, want) {
		t.Errorf("kubectl explain: %v\n%s\nwant %q in it", err, got, want)
	}
}
