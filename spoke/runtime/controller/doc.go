// Package controller runs controllers for each cluster of a fleet.
//
// # Purpose
//
//   - Runner starts and ends the controllers of a cluster with its engagement. It runs
//     them again if they end by themselves, and lets a former engagement of the same
//     name end before the next one begins. A cluster may be engaged again before the former
//     engagement ends; if the new one ends first, the former one goes on.
//   - Controller is one controller of one cluster, with its own queue, workers, rate
//     limiter, resync and metrics.
//   - Queue adds requests to a controller from outside. Requests that arrive before the
//     controller has started wait for it.
//
// # Non-goals
//
// The package has no reconciler, connects to no cluster, and uses no type of the hub: the spoke
// uses it for its own cluster.
//
// # Trade-offs
//
//   - The name in controller-runtime's metrics is "controller/cluster", because its gauges
//     (workqueue_depth, workqueue_unfinished_work_seconds, controller_runtime_active_workers)
//     are set, not added: clusters that share a name overwrite each other's values. It costs
//     about ninety series for each controller and cluster, which are deleted when the
//     controller ends. A queue whose workers are stopped keeps its depth otherwise.
//   - The queue is client-go's, with a storage of two levels: what a user or a watch asks for precedes
//     resyncs and first lists. A priority queue of controller-runtime v0.24 that is shut down with
//     requests in it keeps a goroutine blocked for ever, and with it the queue, at each
//     disengagement of a busy cluster.
//   - A Reconciler may return an error and the time of the next pass, unlike one of controller-runtime: a part that fails
//     must not delay what is due.
//   - Requests that are in the queue when a controller fails are not carried over to the
//     next one, which lists everything when it starts.
package controller
