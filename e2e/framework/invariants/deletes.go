package invariants

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
)

// importInfix is in the names of what a Restore imports a snapshot with.
const importInfix = "-import-"

// editWindow is how long after the edit of its owner an object may be deleted.
const editWindow = 2 * time.Minute

// The plurals that decide about deletions.
const (
	claims         = "persistentvolumeclaims"
	volumes        = "persistentvolumes"
	ecommerceApps  = "ecommerceapps"
	webApps        = "webapps"
	mysqlClusters  = "mysqlclusters"
	memberClusters = "memberclusters"
	cloudAccounts  = "cloudaccounts"
	backups        = "backups"
	restores       = "restores"
	snapshots      = "volumesnapshots"
	contents       = "volumesnapshotcontents"
	secrets        = "secrets"
	statefulSets   = "statefulsets"
)

// guarded reports whether the deletion of an object loses something: data, traffic, or
// the means to restore.
func guarded(e audit.Event) bool {
	switch e.Resource {
	case "deployments", statefulSets, "daemonsets", "services", "ingresses", "cronjobs", "horizontalpodautoscalers",
		"poddisruptionbudgets", "networkpolicies", secrets, "namespaces", "customresourcedefinitions",
		claims, volumes, ecommerceApps, webApps, mysqlClusters, backups, restores, memberClusters,
		cloudAccounts, snapshots, contents:
		return e.Subresource == ""
	case "configmaps":
		return e.Name == config.HubRecord
	}
	return false
}

// removable reports whether an edit of its owner may delete an object: it has no data, and
// belongs to a part of an application that can be switched off.
func removable(e audit.Event) bool {
	switch e.Resource {
	case ecommerceApps, webApps, mysqlClusters, memberClusters, statefulSets, secrets, claims, volumes, "namespaces":
		return false
	}
	return true
}

// retained reports whether an object outlives the application that it is named after: claims,
// the Secrets without which a database cannot be used, and the mark that there was one. Volumes have no namespace, and so no
// owner here.
func retained(e audit.Event) bool {
	switch e.Resource {
	case claims:
		return true
	case secrets:
		return strings.HasSuffix(e.Name, "-credentials") || strings.HasSuffix(e.Name, "-system") || strings.HasSuffix(e.Name, "-created")
	}
	return false
}

// UnexpectedDeletes returns a line for each successful deletion by Shopfleet of a workload, a
// claim, a Secret, a Service, a copy, a backup or another object of value that no user asked for.
// The hub is the name of the hub's cluster: requests of users there concern all clusters,
// others that one.
func UnexpectedDeletes(l Logs, hub string, expected ...Expected) []string {
	var found []string
	known := newRequests(hub)
	for _, r := range l.timeline(func(e audit.Event) bool { return e.Write() && e.Succeeded() }) {
		switch {
		case byUser(r.Event):
			known.note(r)
		case !own(r.Event):
		case !strings.HasPrefix(r.Verb, "delete"):
			known.exist(r)
		case !guarded(r.Event):
		case known.asked(r), slices.ContainsFunc(expected, func(x Expected) bool { return x.matches(r) }):
			known.leave(r)
		default:
			found = append(found, r.String())
		}
	}
	return found
}

// key names an object in one cluster.
type key struct{ cluster, resource, namespace, name string }

func keyOf(r request) key { return key{r.cluster, r.Resource, r.Namespace, r.Name} }

// requests holds the requests of users so far.
type requests struct {
	hub string
	// owners are all owners that were ever written, in any cluster.
	owners map[key]bool
	// deleted has the objects that were deleted and not created again, edited the times of
	// the last edits.
	deleted map[key]bool
	edited  map[key]time.Time
}

func newRequests(hub string) *requests {
	return &requests{hub: hub, owners: map[key]bool{}, deleted: map[key]bool{}, edited: map[key]time.Time{}}
}

// exist notes an object that was written or deleted.
func (r *requests) exist(seen request) {
	if seen.Subresource != "" {
		return
	}
	k := keyOf(seen)
	if seen.Code == http.StatusCreated {
		delete(r.deleted, k)
	}
	switch seen.Resource {
	case ecommerceApps, webApps, mysqlClusters, backups:
		k.cluster = ""
		r.owners[k] = true
	}
}

// note notes a request of a user.
func (r *requests) note(seen request) {
	r.exist(seen)
	switch k := keyOf(seen); {
	case seen.Subresource != "":
	case strings.HasPrefix(seen.Verb, "delete"):
		r.deleted[k] = true
	case seen.Resource == restores || seen.Code != http.StatusCreated:
		r.edited[k] = seen.Received
	}
}

// leave notes a deletion by Shopfleet that was asked for: it takes children with it.
func (r *requests) leave(seen request) {
	switch seen.Resource {
	case ecommerceApps, webApps, mysqlClusters:
		r.deleted[keyOf(seen)] = true
	}
}

// asked reports whether a user asked for a deletion, by what was done to the owner before.
func (r *requests) asked(seen request) bool {
	for _, cluster := range []string{r.hub, seen.cluster} {
		if r.deleted[key{cluster, "namespaces", "", seen.Namespace}] || r.deleted[key{cluster, seen.Resource, seen.Namespace, seen.Name}] {
			return true
		}
		for _, owner := range r.ownersOf(seen) {
			owner.cluster = cluster
			at, edited := r.edited[owner]
			// What a deleted Backup may take with it is not the database's.
			gone := r.deleted[owner] && (owner.resource == backups || !retained(seen.Event))
			if gone || edited && removable(seen.Event) && seen.Received.Sub(at) < editWindow {
				return true
			}
		}
	}
	return slices.ContainsFunc(r.restoring(), func(restore key) bool { return replaces(restore, seen) })
}

// ownersOf returns the owners of an object without their clusters, which are the owners of the longest
// name that the object's name begins with.
func (r *requests) ownersOf(seen request) []key {
	var found []key
	longest := 0
	for k := range r.owners {
		if k.namespace != seen.Namespace || k.resource == seen.Resource || len(k.name) < longest ||
			seen.Name != k.name && !strings.HasPrefix(seen.Name, k.name+"-") {
			continue
		}
		if len(k.name) > longest {
			found, longest = nil, len(k.name)
		}
		found = append(found, k)
	}
	return found
}

// restoring returns the Restores that users created or deleted.
func (r *requests) restoring() []key {
	var found []key
	for k := range r.deleted {
		if k.resource == restores {
			found = append(found, k)
		}
	}
	for k := range r.edited {
		if k.resource == restores {
			found = append(found, k)
		}
	}
	return found
}

// replaces reports whether a Restore may replace an object: volumes and what holds them; or delete it: what a snapshot was
// imported with. Contents have no namespace.
func replaces(restore key, r request) bool {
	switch r.Resource {
	case volumes:
		return true
	case contents:
		return strings.Contains(r.Name, importInfix)
	case snapshots:
		return r.Namespace == restore.namespace && strings.Contains(r.Name, importInfix)
	case claims, statefulSets, secrets, "services":
		return r.Namespace == restore.namespace
	}
	return false
}
