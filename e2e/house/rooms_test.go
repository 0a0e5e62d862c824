package house

import (
	"slices"
	"strings"
)

// module is the path of the module under test.
const module = "github.com/shopfleet/shopfleet"

// The floors of the house. A room imports rooms on lower floors only.
const (
	floorContract  = 0
	floorDecisions = 1
	floorPorts     = 2
	floorAdapters  = 3
	floorControl   = 4
	floorSetup     = 5
	floorMain      = 6   // Above setup, because a main calls its setup.
	floorTests     = 100 // Test support: above everything, below nothing.
)

// room is a folder and everything below it.
type room struct {
	path  string
	floor int
	// also lists rooms on the same floor that this one may import.
	also []string
	// only, if set, lists all rooms that this one may import.
	only []string
	// free says that the linter has no rule for the room: it may import
	// whatever is below.
	free bool
	// sdk is the prefix of the packages that no other room may import.
	sdk string
}

// rooms is the plan of the house.
func rooms() []room {
	return []room{
		{path: "api/v1", floor: floorContract},
		// The older groups share value types with ecommerce.io.
		{path: "api/webapp/v1", floor: floorContract, also: []string{"api/v1"}},
		{path: "api/mysql/v1", floor: floorContract, also: []string{"api/v1"}},

		{path: "hub/placement", floor: floorDecisions},
		{path: "hub/overrides", floor: floorDecisions},
		{path: "hub/rollout", floor: floorDecisions},
		{path: "hub/aggregate", floor: floorDecisions},
		{path: "hub/schedule", floor: floorDecisions},
		{path: "spoke/component", floor: floorDecisions},
		// The arguments of transfer Jobs, shared by the hub and the Job.
		{path: "spoke/transfer/order", floor: floorDecisions},
		// Defines the components that rendering returns.
		{path: "spoke/render", floor: floorDecisions, also: []string{"spoke/component", "spoke/transfer/order"}},

		{path: "cloud", floor: floorPorts},
		{path: "config", floor: floorPorts},

		{path: "cloud/aws", floor: floorAdapters, sdk: "github.com/aws/"},
		{path: "cloud/gcp", floor: floorAdapters, sdk: "cloud.google.com/"},
		{path: "cloud/azure", floor: floorAdapters, sdk: "github.com/Azure/"},
		{path: "cloud/local", floor: floorAdapters},
		{path: "hub/members", floor: floorAdapters},
		{path: "hub/accounts", floor: floorAdapters},
		{path: "hub/quiesce", floor: floorAdapters},
		// Errors of buckets are classified by the accounts.
		{path: "hub/logicalbackup", floor: floorAdapters, also: []string{"hub/accounts"}},
		// Queues and rate limiters of controllers.
		{path: "hub/queues", floor: floorAdapters},
		{path: "spoke/apply", floor: floorAdapters},
		{path: "spoke/transfer", floor: floorAdapters},
		// Shared by both processes; imports no other package.
		{path: "spoke/operator", floor: floorAdapters},

		{path: "hub/controllers/app", floor: floorControl},
		{path: "hub/controllers/member", floor: floorControl},
		{path: "hub/controllers/account", floor: floorControl},
		{path: "hub/controllers/storage", floor: floorControl},
		{path: "hub/controllers/backup", floor: floorControl},
		{path: "hub/controllers/restore", floor: floorControl},
		{path: "hub/webhook", floor: floorControl},
		{path: "spoke/controller", floor: floorControl},

		{path: "hub/setup", floor: floorSetup},
		{path: "spoke/setup", floor: floorSetup},

		// The providers are linked into this binary alone.
		{path: "cmd/hub", floor: floorMain, only: []string{"api/v1", "cloud", "cloud/aws", "cloud/gcp", "cloud/azure", "hub/setup"}},
		{path: "cmd/spoke", floor: floorMain, only: []string{"spoke/setup", "spoke/transfer"}},
		{path: "cmd/kubectl-shopfleet", floor: floorMain, free: true},

		{path: "api/apitest", floor: floorTests},
		{path: "cloud/cloudtest", floor: floorTests},
		{path: "cloud/fake", floor: floorTests},
		{path: "e2e", floor: floorTests},
	}
}

// roomOf finds the innermost room of a package of this module.
func roomOf(importPath string) (room, bool) {
	path := strings.TrimPrefix(importPath, module+"/")
	var found room
	for _, r := range rooms() {
		if (path == r.path || strings.HasPrefix(path, r.path+"/")) && len(r.path) > len(found.path) {
			found = r
		}
	}
	return found, found.path != ""
}

// mayImport says whether product code of one room may import another room.
func (r room) mayImport(other room) bool {
	switch {
	case r.path == other.path, r.floor == floorTests:
		return true
	case r.only != nil:
		return slices.Contains(r.only, other.path)
	case slices.Contains(r.also, other.path):
		return true
	default:
		return other.floor < r.floor
	}
}
