// Package objectparts has what all rendered objects share: names, labels, pod security, and
// the small objects that are alike for every workload.
//
// # Purpose
//
//   - Owner and Part identify the owner of an object and its component. They provide
//     metadata, selectors and pod labels.
//   - Name and LabelValue return valid names for any name of an application.
//   - Pod security of the restricted standard, topology spread over nodes and zones,
//     NetworkPolicies and PodDisruptionBudgets.
//   - References collects the Secrets and ConfigMaps of users that objects refer to.
//
// # Non-goals
//
// The package knows nothing about databases or shops, and decides nothing about which
// objects exist.
//
// # Trade-offs
//
// Pod templates, claims and selectors have fewer labels than the objects: no UID and no
// cluster. Selectors and claim templates are immutable, and a change of a pod template's
// labels causes a rollout; neither may depend on the name of the cluster in the fleet.
//
// A name is shortened or cleaned only if necessary, and then ends in a hash of the whole
// name, so that names of two applications never collide. Dots are replaced too, because a
// name becomes the host name of Services and pods.
package objectparts
