package archtest

import (
	"slices"
	"strings"
)

// module is the path of the module under test.
const module = "github.com/shopfleet/shopfleet"

// The layers of the code base. A package imports only packages of lower layers.
const (
	layerAPI         = 0
	layerDecisions   = 1
	layerPorts       = 2
	layerAdapters    = 3
	layerControllers = 4
	layerSetup       = 5
	layerMain        = 6   // Above setup, because a main calls its setup.
	layerTests       = 100 // Test support: may import every package, and no product code imports it.
)

// archPackage is the rule for a package and all packages below its folder.
type archPackage struct {
	path  string
	layer int
	// also lists the packages of the same layer that this one may import.
	also []string
	// only, if set, lists all packages that this one may import.
	only []string
	// free means that the linter has no rule for the package. It may import any package of a
	// lower layer.
	free bool
	// sdk is the prefix of the import paths that only this package may import.
	sdk string
}

// archPackages returns the rules for all packages of this module.
func archPackages() []archPackage {
	return slices.Concat(pureArchPackages(), effectfulArchPackages())
}

// pureArchPackages returns the rules for the API types and for packages that decide without
// a client.
func pureArchPackages() []archPackage {
	return []archPackage{
		{path: "api/v1", layer: layerAPI},
		{path: "api/webapp/v1", layer: layerAPI, also: []string{"api/v1"}}, // Share value types with ecommerce.io.
		{path: "api/mysql/v1", layer: layerAPI, also: []string{"api/v1"}},

		{path: "hub/app/placement", layer: layerDecisions},
		// Selects clusters as placement does.
		{path: "hub/app/overrides", layer: layerDecisions, also: []string{"hub/app/placement"}},
		// Begins in windows by schedule.
		{path: "hub/app/rollout", layer: layerDecisions, also: []string{"hub/data/schedule"}},
		{path: "hub/app/aggregate", layer: layerDecisions},
		{path: "hub/data/schedule", layer: layerDecisions},
		{path: "hub/data/retention", layer: layerDecisions},
		{path: "hub/app/recovery", layer: layerDecisions},
		{path: "hub/runbook", layer: layerDecisions},
		// Shows the messages of API servers.
		{path: "spoke/component", layer: layerDecisions, also: []string{"spoke/runtime/apierror"}},
		// Classifies the errors of every controller.
		{path: "spoke/runtime/apierror", layer: layerDecisions},
		// The arguments of transfer Jobs, shared by the hub and the Job.
		{path: "spoke/transfer/order", layer: layerDecisions},
		{path: "spoke/passwordrotation", layer: layerDecisions, also: []string{"spoke/render"}},
		{path: "spoke/replication", layer: layerDecisions},
		{path: "spoke/dataloss", layer: layerDecisions, also: []string{"spoke/component", "spoke/render"}},
		// Defines the components that rendering returns.
		{path: "spoke/render", layer: layerDecisions, also: []string{"spoke/component", "spoke/transfer/order"}},
	}
}

// effectfulArchPackages returns the rules for the ports and all layers above them.
func effectfulArchPackages() []archPackage {
	return []archPackage{
		{path: "cloud", layer: layerPorts},
		{path: "spoke/runtime/ownwrites", layer: layerPorts},
		// Wraps the transports of hub, members and spoke.
		{path: "spoke/runtime/watchtimeout", layer: layerPorts},
		{path: "config", layer: layerPorts},

		{path: "cloud/aws", layer: layerAdapters, sdk: "github.com/aws/"},
		{path: "cloud/gcp", layer: layerAdapters, sdk: "cloud.google.com/"},
		{path: "cloud/azure", layer: layerAdapters, sdk: "github.com/Azure/"},
		{path: "hub/members", layer: layerAdapters, also: []string{"spoke/runtime"}},
		{path: "hub/app/recovery/store", layer: layerAdapters},
		{path: "hub/app/state", layer: layerAdapters, also: []string{"spoke/runtime"}}, // Paces statuses as the spoke does.
		{path: "hub/app/revisions", layer: layerAdapters},
		{path: "hub/metrics", layer: layerAdapters},
		{path: "hub/data/accounts", layer: layerAdapters},
		{path: "hub/data/steps", layer: layerAdapters, also: []string{"hub/data/accounts"}},
		// Errors of buckets are classified by the accounts.
		{path: "hub/data/dumps", layer: layerAdapters, also: []string{"hub/data/accounts", "hub/data/steps"}},
		{path: "hub/data/memberjob", layer: layerAdapters},
		{path: "spoke/apply", layer: layerAdapters},
		{path: "spoke/transfer", layer: layerAdapters},
		// What both programs need of a process.
		{path: "spoke/runtime", layer: layerAdapters},

		{path: "hub/app", layer: layerControllers},
		{path: "hub/members/controller", layer: layerControllers},
		{path: "hub/data/accounts/controller", layer: layerControllers},
		{path: "hub/data/storageclasses", layer: layerControllers},
		{path: "hub/data/backup", layer: layerControllers},
		{path: "hub/data/rediscover", layer: layerControllers},
		{path: "hub/data/restore", layer: layerControllers},
		// Asks the queues of copies and the reconciler of children for dry runs.
		{path: "hub/app/plan", layer: layerControllers, also: []string{"hub/app", "spoke/controller"}},
		{path: "spoke/controller", layer: layerControllers},

		{path: "hub/setup", layer: layerSetup},
		{path: "spoke/setup", layer: layerSetup},

		// The providers are linked into this binary alone.
		{path: "cmd/hub", layer: layerMain, only: []string{"api/v1", "cloud", "cloud/aws", "cloud/gcp", "cloud/azure", "hub/setup"}},
		{path: "cmd/spoke", layer: layerMain, only: []string{"spoke/setup", "spoke/transfer"}},
		{path: "cmd/kubectl-shopfleet", layer: layerMain, free: true},

		{path: "api/apitest", layer: layerTests},
		{path: "cloud/cloudtest", layer: layerTests},
		{path: "cloud/fake", layer: layerTests},
		{path: "e2e", layer: layerTests},
	}
}

// packageOf returns the most specific rule for an import path of this module, and whether
// there is one.
func packageOf(importPath string) (archPackage, bool) {
	path := strings.TrimPrefix(importPath, module+"/")
	var found archPackage
	for _, r := range archPackages() {
		if (path == r.path || strings.HasPrefix(path, r.path+"/")) && len(r.path) > len(found.path) {
			found = r
		}
	}
	return found, found.path != ""
}

// mayImport reports whether product code of one package may import another one.
func (a archPackage) mayImport(other archPackage) bool {
	switch {
	case a.path == other.path, a.layer == layerTests:
		return true
	case a.only != nil:
		return slices.Contains(a.only, other.path)
	case slices.Contains(a.also, other.path):
		return true
	default:
		return other.layer < a.layer
	}
}
