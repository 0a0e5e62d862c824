// Package stepresult decides about a member cluster from what is known of it.
//
// # What
//
//   - Judge: what is known now, and the conditions so far, to the conditions.
//   - Pulse: how an agent is, from what its Lease said at each look.
//   - Claims: which cluster belongs to which name, so that a hub is no member of
//     itself, a name does not come to mean another cluster, and no cluster is two
//     members.
//
// # Not
//
// No network and no clock. Claims remember, Judge and Pulse do not.
//
// # Trade-offs
//
// What was verified before a member was lost stays in its conditions: only Connected
// and Ready change with the silence of a cluster, because silence says nothing else.
// The agent of such a cluster is Unknown: nobody hears it.
package conditions
