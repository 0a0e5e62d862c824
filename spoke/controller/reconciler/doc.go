// Package reconciler reconciles applications of one kind in one cluster.
//
// # Purpose
//
// Kind describes a kind, Member a cluster. Each reconciliation is one pass: deletion,
// finalizer, annotations, observe, render, plan, write, and a single status write at
// the end, also after an error. Objects that the kind does not select are ignored, also
// while they are being deleted.
//
// # Non-goals
//
// Watches and queues are in package controller, decisions in package component.
//
// # Trade-offs
//
//   - After writes, the last response is used until the cache has received all of them, so
//     that one change is not written twice, and no write conflicts with an earlier one.
//   - Decisions need no state in memory except observations that a new process makes again: of a database's
//     replicas, and of the Secrets and ConfigMaps of users. The rollout, deadlines and whether the
//     application was ever ready are in the object's status and in the hashes of its children. So an object may
//     move between hub and agent at any time, and the new reconciler writes only what differs.
//   - The mark of a database and its login are Secrets that outlive the object. They are read and written before
//     anything is rendered, because clients and dumps depend on them. A loss of data is recorded in the object's
//     status, because a new pod does not show it.
//   - Generated credentials are not generated again while a claim has data that depends on them, or a Restore has deleted the
//     claim, whose volume may be put back. Data that was imported from a snapshot depends on none until it is started: the
//     annotation of its claim is removed between the writes of the Secrets and of the StatefulSet. A Secret that is deleted
//     between the removal and the first start is reported as missing, although the data still takes any passwords.
//   - Errors that a user must resolve (an unowned object, a missing permission, an exhausted
//     quota, a denial of a policy) are retried every five minutes, because no event reports
//     their resolution. Any event of the object, its children or the definitions, and the
//     annotation ecommerce.io/reconcile-at, retry them at once.
//   - Secrets and ConfigMaps that users provide are not cached: a watch would hold all of them. Whether they exist
//     is read by name once in a resync period, and every five minutes while one is missing. A missing one
//     blocks nothing: a registry may be public.
//   - Caches hold no pods either, except the pods of databases. If an application waits for a component,
//     the pods of the component are listed, after 30 seconds and then after one minute, two, four and so on. A
//     watch would hold every pod of the fleet for the few that do not become ready.
//   - A status in which only numbers, messages and what components are about to do changed, or
//     that became available, is delayed by up to two seconds, so that a rollout takes a handful
//     of status writes, whatever its size.
package reconciler
