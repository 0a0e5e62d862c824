// Package permissions checks what the credentials for a member cluster allow.
//
// # Purpose
//
//   - FromRules lists the permissions that a role grants; Missing asks the cluster which of them the
//     credentials lack; Describe formats them for messages.
//   - Restricted reports whether admission policies deny the credentials what their role grants too
//     widely.
//
// # Non-goals
//
// The package has no schedule and sets no conditions: the accessor of a member decides when to check and
// what follows. The package writes nothing.
//
// # Trade-offs
//
// Permissions are read with one SelfSubjectRulesReview; only those that it does not show are checked one by
// one. A check each minute thus costs a member one request instead of a hundred. The rules of a namespace
// that does not exist are those that apply in all namespaces.
package permissions
