// Package preflight finds out what a member cluster allows and what it is, before
// and while the hub works there.
//
// # What
//
//   - PermissionsFrom lists what a role grants; Missing asks the cluster which of it
//     the credentials do not have; Describe says it to people.
//   - Nodes sums up the nodes: provider, region, zones, capacity. Slim is what the
//     cache keeps of a node.
//   - Discover reads the version and which optional APIs are served.
//   - Definitions brings CustomResourceDefinitions up to date, and tells when they
//     are deleted. Where they are somebody else's, Verify compares them alone.
//
// # Not
//
// No schedule and no conditions: the accessor of a member decides when to ask and
// what follows. No writes but the definition.
//
// # Trade-offs
//
//   - Permissions are read with one SelfSubjectRulesReview, and only what it does not
//     show is asked one by one: a check each minute costs a member one request, not a
//     hundred. Rules of a namespace that does not exist are those that hold in all.
//   - A definition is compared by the hash of what we wrote last, so that a restart
//     writes nothing; whoever edits it by hand keeps the edit until the next version.
//   - A definition that is being deleted is left alone: the API server lets nobody make
//     objects of it any more, and its end cannot be called off.
package preflight
