// Package join makes a cluster a member of the fleet, and removes it.
//
// # Purpose
//
// On the member, with the user's credentials, the package creates a ServiceAccount with
// the permissions of config/rbac and a token for it. On the hub it creates the
// registration Secret with that token, and a MemberCluster if the user sets provider,
// region, labels or mode. Then it waits until the MemberCluster is ready. An agent is
// installed before the hub relies on it, and the permissions of the other mode are revoked
// only after the hub has switched.
//
// # Non-goals
//
// No connection outlives the command, and the member is not validated: the hub
// does that, and reports why a member is not ready.
//
// # Trade-offs
//
// The hub receives only the token of one account. The user's credentials
// never leave this process, so they may be of any kind, exec plugins included. Clusters
// are compared by the UID of their kube-system namespace before anything is written,
// because the hub would reject the same mistakes only afterwards.
package join
