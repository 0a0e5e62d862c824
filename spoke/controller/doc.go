// Package controller turns copies into workloads: an EcommerceApp, a WebApp or a
// MySQLCluster in one cluster into the objects that run it there.
//
// # What
//
//   - Kind: what the reconciler needs to know of a kind, which is little more
//     than its type and the pure function that renders it.
//   - Engager: for each cluster that is engaged, a controller per kind with its
//     own queue, workers and caches. In the hub those are the members, in
//     cmd/spoke it is the one local cluster.
//   - The reconciler: deletion first, finalizer, observe, render, plan, write, and
//     one status write at the end.
//
// # Not
//
// No decision about order or phases (package component), about content (package
// render) or about how an object is written (package apply). No connection is
// made here: clusters come with caches that are synced, or sync by themselves.
//
// # Trade-offs
//
//   - Everything is read from caches that hold only what carries our label. An
//     unchanged application costs no request, whatever wakes its reconciler.
//   - The kinds of optional APIs (ServiceMonitor, PrometheusRule, Certificate) have
//     a cache of their own: whether their CRDs are there, and whether we may list
//     them, must not keep a cluster's main cache from being in sync.
//   - After a write the object that the server answered is used until the cache
//     shows a newer one, so that one change is not written twice.
//   - What a person has to mend (a conflict, missing permission, a full quota) is
//     tried again every half minute, as no event tells that it was mended.
package controller
