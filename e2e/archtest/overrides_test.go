package archtest

import (
	"strings"
	"testing"
)

// TestOverridesHaveOneOwner checks that package revisions alone applies overrides: what a cluster has of an application is
// asked there.
func TestOverridesHaveOneOwner(t *testing.T) {
	const owner, imported = "hub/app/revisions/", `"github.com/shopfleet/shopfleet/hub/app/overrides"`
	owns := false
	for _, f := range listFiles(t) {
		if !f.isGo() || f.isTest() || !strings.Contains(f.text, imported) {
			continue
		}
		if strings.HasPrefix(f.path, owner) {
			owns = true
			continue
		}
		t.Errorf("%s imports package overrides: ask package revisions", f.path)
	}
	if !owns {
		t.Errorf("no file of %s imports package overrides", owner)
	}
}
