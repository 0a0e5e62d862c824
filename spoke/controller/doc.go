// Package controller turns copies into workloads: an EcommerceApp, a WebApp or a
// MySQLCluster in one cluster into the objects that run it there.
//
// # Purpose
//
//   - EcommerceApp, WebApp and MySQLCluster: what the reconciler needs to know of
//     a kind, which is little more than its type and the pure function that
//     renders it.
//   - ClusterRunner: for each engaged cluster, a controller per kind with its own
//     queue, workers and caches. In the hub those are the members, in cmd/spoke it is
//     the one local cluster.
//   - Ownership: cmd/spoke reconciles copies that name the agent, and applications that
//     users created in the cluster; the hub reconciles all other copies.
//   - ClusterRunner.DryRun: returns what the reconciler would write of the children of a copy, which
//     need not exist, by the same code with dry runs.
//   - CacheOptions and WatchedObjects: say what a cluster's cache must hold.
//
// # Non-goals
//
// Package reconciler reconciles, package component decides about order and phases, package
// render about contents, and package apply about how an object is written. The package makes
// no connection: clusters come with caches that are synced, or sync by themselves.
//
// # Trade-offs
//
//   - Everything is read from caches that hold only what carries our label. An
//     unchanged application costs no request, whatever wakes its reconciler.
//   - Of pods, the caches hold only those of databases, with identity, owner, images and status, because the status
//     of a StatefulSet does not show which of its pods is ready, nor what an init container does.
//     Pods are no children: they are never written.
//   - Of most children, the caches hold metadata, what decisions read, and the fingerprint of what was
//     applied; of Services, CronJobs and PrometheusRules, which are large, metadata alone is watched.
//   - Objects of one cache share equal labels, owners and containers, which takes a third less
//     memory. It relies on nothing being changed in cached objects.
//   - NewInformer: its informers call handlers directly, so a handler must not block. Informers of client-go
//     have two goroutines and a buffer for each handler, in each member.
//   - Name, region and provider of a cluster come from the copy, in the hub and in the
//     agent, so that a copy that is handed over is rendered the same.
//   - The kinds of optional APIs (ServiceMonitor, PrometheusRule, Certificate) have
//     a cache of their own: whether their CRDs are there, and whether we may list
//     them, must not keep a cluster's main cache from being in sync.
package controller
