// Package component decides what to do with the components of an application in one
// cluster: which objects may be written now, which must be deleted, what state each
// component is in, and which phase and conditions result.
//
// # Purpose
//
//   - Values: Component and Object describe the desired state, Live the existing objects.
//   - Observe: derives the State of a component from its live objects.
//   - Decide: returns the steps that may be taken now, in dependency order, and in reverse
//     order on deletion.
//   - Summarize: derives phase, message and conditions from states.
//
// # Non-goals
//
// The package uses no client, context, clock or logger: every function depends on its arguments only, and
// is tested with tables.
//
// # Trade-offs
//
// Dependencies gate the first rollout and changes of version, but not repairs: a
// frontend that was deleted is recreated while the database restarts. A dependency must
// serve with the desired version, but not all of it must be ready: a database serves
// while its primary does, so a replica that copies data for hours, or is
// lost, does not delay a release of the backend.
//
// A ConfigMap that is no longer needed is deleted when its component is ready, because the pods that are
// being replaced may read it. An update that fails keeps it, and one more for each further attempt.
//
// The condition Available reports whether customers can be served, and Ready whether
// everything that runs is ready. Stalled is True while the spec cannot take effect without a
// user. For tools that use kstatus, observedGeneration is then the generation of the spec:
// otherwise they would wait, as for a spec that the controller has not read yet.
//
// A volume that cannot grow stalls the application although its database is ready with the old
// size: kstatus reports Failed, because the requested change needs a user, while
// Ready and Available show that customers are served. If the claim of dumps cannot grow, the application is only
// Degraded, because the spec does not have its size.
//
// A StatefulSet is recreated with larger claim templates after its claims have been
// expanded, not before: claims that cannot be expanded are reported, and block nothing
// else.
//
// A StatefulSet has no progress deadline in Kubernetes, so the transition time of the
// condition Progressing is used. It is reset for each generation, each component that
// is waited for, and each pod that is updated or becomes ready. While a pod copies the
// primary's data no deadline applies, since nothing tells how long that takes; a copy that
// crashed is no progress. Failure, numbers and the copy are in the status, so nothing is
// held in memory.
package component
