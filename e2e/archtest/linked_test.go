package archtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestLinked checks which binaries link the SDKs of the clouds, which are tens of megabytes: neither a spoke in each
// cluster nor the plugin may, and neither may other tests, which are built many times a day. The plugin links the providers of
// credentials that client-go leaves to programs, as kubectl does.
func TestLinked(t *testing.T) {
	linked := map[string]pkg{}
	for _, p := range listPackages(t, "-test") {
		linked[p.ImportPath] = p
		for _, problem := range checkLinked(p) {
			t.Error(problem)
		}
	}
	for _, binary := range []string{"cmd/hub", "cmd/spoke", "cmd/kubectl-shopfleet"} {
		if len(linked[module+"/"+binary].Deps) == 0 {
			t.Errorf("no dependencies of %s: was it moved?", binary)
		}
	}
	const login = "k8s.io/client-go/plugin/pkg/client/auth/oidc"
	if plugin := linked[module+"/cmd/kubectl-shopfleet"]; !slices.Contains(plugin.Deps, login) {
		t.Errorf("%s does not link %s: a kubeconfig with auth-provider oidc fails", plugin.ImportPath, login)
	}
	// The hub has them, so that the prefixes are right.
	for _, r := range archPackages() {
		ours := func(path string) bool { return strings.HasPrefix(path, r.sdk) }
		if r.sdk != "" && !slices.ContainsFunc(linked[module+"/cmd/hub"].Deps, ours) {
			t.Errorf("cmd/hub links nothing of %s", r.sdk)
		}
	}
}

// checkLinked finds the SDKs of clouds among all that a package, or its test, is built
// of. The hub has them all, an adapter its own, and end-to-end tests what they test.
func checkLinked(p pkg) []string {
	path, _, _ := strings.Cut(p.ImportPath, " ") // As in hub/setup [hub/setup.test].
	r, _ := packageOf(strings.TrimSuffix(strings.TrimSuffix(path, ".test"), "_test"))
	if r.path == "cmd/hub" || r.path == "e2e" {
		return nil
	}
	for _, owner := range archPackages() {
		if owner.sdk == "" || owner.path == r.path {
			continue
		}
		at := slices.IndexFunc(p.Deps, func(path string) bool { return strings.HasPrefix(path, owner.sdk) })
		if at >= 0 {
			return []string{fmt.Sprintf("%s links %s: only %s and the hub's binary may", p.ImportPath, p.Deps[at], owner.path)}
		}
	}
	return nil
}
