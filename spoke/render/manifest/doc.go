// Package manifest holds what every rendered object has in common: its name,
// its labels, the security of its pods, and the small objects that look the
// same for each workload.
//
// # What
//
//   - Owner and Part: whose object it is, and of which component. They give
//     metadata, selectors and the labels of pods.
//   - Name and LabelValue: names that are valid for the kind that bears them,
//     whatever the application is called.
//   - Pod security of the restricted standard, spread over nodes and zones,
//     NetworkPolicies and PodDisruptionBudgets.
//
// # Not
//
// Nothing about databases or shops, and no decision about what exists.
//
// # Trade-offs
//
// Pod templates, claims and selectors bear fewer labels than the objects: no
// UID, no cluster. A selector and a claim template cannot be changed, and a
// label of a pod template costs a rollout; neither should follow a cluster that
// was registered under another name.
//
// A name is shortened or cleaned only when it must be, and then ends in a hash
// of the whole name, so that two applications never meet in one name. Dots are
// cleaned too, since a name becomes a Service's and a pod's host name.
package manifest
