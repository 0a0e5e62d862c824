// Package operator is what the hub and the spoke have in common as processes: flags,
// logs, metrics, debugging, probes, leadership and the way they end.
//
// # What
//
//   - Options are the flags that both processes have. Configure makes a manager of
//     controller-runtime follow them.
//   - Level is how much is logged. It changes while the process runs.
//   - AddProbes answers /healthz and /readyz.
//
// The metrics server is https by default. Who asks shows a token of the cluster, and
// needs the verb get on the non-resource URL; put for changing what is logged. The
// cluster's API server decides both, so that the process needs create on
// tokenreviews.authentication.k8s.io and subjectaccessreviews.authorization.k8s.io.
//
//	/metrics           what is measured
//	/debug/log-level   GET tells the verbosity, PUT of 0 to 10 changes it
//	/debug/pprof/      profiles, with --profiling
//
// Some metrics have a second name, with the same labels and values:
//
//	name                        second name of
//	reconcile_duration_seconds  controller_runtime_reconcile_time_seconds
//	reconcile_errors_total      controller_runtime_reconcile_errors_total
//	reconcile_total             controller_runtime_reconcile_total
//	workqueue_depth             (its only name)
//
// The label result of reconcile_total is success, error, requeue or requeue_after.
//
// # Not
//
// Nothing about applications or clusters.
//
// # Trade-offs
//
//   - From verbosity 8 on, client-go would log the bodies of requests, and with them
//     Secrets. So 8 to 10 are accepted, and log what 7 logs.
//   - Metrics without https are for a loopback address. Elsewhere they are served
//     after a warning, and debugging is not served at all.
//   - A wrong token is answered with 500 and an error in the log, as controller-runtime
//     does: it does not tell a token that the API server refuses from an API server
//     that does not answer. No token is answered with 401.
//   - A certificate that was asked for and cannot be read ends the process. Serving
//     another one instead would only be noticed by who cannot verify it.
//   - Second names are made while metrics are gathered: nothing is counted twice, and
//     no metric of a library is changed.
package operator
