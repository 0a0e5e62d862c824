package state

import (
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Decision holds what a pass over an application decided about its copies. Neither it nor what it refers
// to is changed after it was handed over: the queues of all members share it.
type Decision struct {
	// App has the metadata of the application and its spec as it is rolled out. It has no status.
	App *v1.EcommerceApp
	// Ahead means that the clusters are recorded in the metadata of the application and not in its
	// status yet.
	Ahead bool
	// MayReturn means that some cluster has, or may get, another revision than that of the spec.
	MayReturn bool
	// Unknown are the origins that wait for the user, by cluster.
	Unknown map[string]string
	// Orders are the decisions about each cluster that has a copy, or is to have one, by name.
	Orders map[string]*Order
}

// Order is the part of a Decision about one cluster.
type Order struct {
	// Hash identifies everything that the queue acts on, also what concerns the application as a whole, but a recorded
	// server that makes no difference.
	// The facts below are not part of it: that they follow wakes no queue.
	Hash string
	// Delete means that the copy is to be deleted; otherwise it is to be written.
	Delete bool
	// Revision is the number of the revision that the copy is to have; 0 without a rollout. Earlier
	// means that it is not the revision of the spec.
	Revision int64
	Earlier  bool
	// Share is the cluster's part of the replicas; nil if they are not divided.
	Share *v1.ReplicaShare
	// Rendering is the version of pod templates that the copy may have; empty for the one that it has.
	Rendering string
	// Recorded is the database's server that the backups are of; zero if there are none.
	Recorded v1.DatabaseServer

	// Applied is the generation that the copy is known to have had, DatabaseCreated whether its database
	// was created. Region and Provider are where the cluster was last.
	Applied         int64
	DatabaseCreated bool
	Region          string
	Provider        v1.Provider
}

// Order returns the order about a cluster; nil if there is none, as without a Decision.
func (d *Decision) Order(member string) *Order {
	if d == nil {
		return nil
	}
	return d.Orders[member]
}

// IsOf reports whether a Decision is about an application.
func (d *Decision) IsOf(app types.UID) bool { return d != nil && d.App.UID == app }

// IsPending reports whether a cluster has missed something: its queue catches up before it compares
// what has been written.
func (d *Decision) IsPending(member string) bool {
	o := d.Order(member)
	return o != nil && (o.Delete || o.Applied < d.App.Generation)
}
