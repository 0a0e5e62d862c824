// Package join makes a cluster a member of the fleet, and ends that.
//
// What: on the member, with the caller's credentials, a ServiceAccount with the
// permissions that we ship and a token for it; on the hub the registration Secret
// with that token and, where the caller says more about the cluster, the
// MemberCluster. Then it waits until the hub reports the member ready.
//
// With an agent, it is installed before anything is left to it, and what the hub may do
// only in the other mode is taken away once the hub has changed over, never before.
//
// Not: no connection that outlives the command, and no judgement of the member:
// the hub checks it and says why it is not ready.
//
// Trade-offs: all that the caller gives the hub is a token of one account. The
// caller's own credentials never leave this process, so that they may be of any
// kind, exec plugins included. Who the clusters are is compared by the UID of their
// kube-system namespace before anything is written, since the hub would refuse the
// same mistakes only afterwards.
package join
