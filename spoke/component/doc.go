// Package component decides what happens to the components of an application
// in one cluster: which objects may be written now, which must go, what state
// each component is in, and what phase and conditions follow.
//
// # What
//
//   - Values: Component and Object say what should exist, Live what does.
//   - Observe: a component's live objects to its State.
//   - Plan: components and live objects to the steps that may be taken now, in
//     dependency order, and in reverse order on deletion.
//   - Summarize: states to phase, message and conditions.
//
// # Not
//
// No client, context, clock or logger: everything is a function of values, and
// its tests are tables.
//
// # Trade-offs
//
// Dependencies gate a first rollout and a change of version, not the repair of
// what had been rolled out: a frontend that was deleted comes back while the
// database restarts.
//
// A StatefulSet is made again for larger claims once they have grown, not before:
// claims that cannot grow are told of, and hold up nothing else.
//
// No controller gives up a StatefulSet, so the condition Progressing is its clock,
// which starts anew with each spec and each component that is waited for. Giving
// up is kept in the conditions, and needs no memory.
package component
