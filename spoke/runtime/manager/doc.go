// Package manager provides what the hub and the spoke have in common as programs:
// flags, logs, metrics, debugging, probes, leader election and shutdown.
//
// # Purpose
//
//   - Options are the flags that both programs have. Configure applies them to a manager
//     of controller-runtime.
//   - Level is the log verbosity, which can be changed at run time.
//   - AddProbes serves /healthz and /readyz.
//
// The metrics server uses https by default. Clients authenticate with a token of the
// cluster, and need the verb get on the non-resource URL, or put to change the log
// verbosity. The API server decides both, so the program needs create on
// tokenreviews.authentication.k8s.io and subjectaccessreviews.authorization.k8s.io.
//
//	/metrics           the metrics
//	/debug/log-level   GET returns the verbosity, PUT of 0 to 10 sets it
//	/debug/pprof/      profiles, with --profiling
//
// Some metrics have an alias, with the same labels and values:
//
//	name                        alias of
//	reconcile_duration_seconds  controller_runtime_reconcile_time_seconds
//	reconcile_errors_total      controller_runtime_reconcile_errors_total
//	reconcile_total             controller_runtime_reconcile_total
//	workqueue_depth             (its only name)
//
// The label result of reconcile_total is success, error, requeue or requeue_after.
//
// # Non-goals
//
// The package knows neither applications nor clusters.
//
// # Trade-offs
//
//   - From verbosity 8 on, client-go would log the bodies of requests, including Secrets.
//     The values 8 to 10 are accepted, and have the effect of 7.
//   - Metrics without https are meant for loopback addresses. On other addresses they are
//     served after a warning, and the debugging endpoints are not served.
//   - An invalid token results in status 500 and an error in the log, as in
//     controller-runtime, which does not distinguish a token that the API server rejects
//     from an API server that does not answer. A missing token results in 401.
//   - If the configured certificate cannot be read, the program exits. Serving a
//     self-signed one instead would only be noticed by clients that verify it.
//   - Aliases are added when metrics are gathered: nothing is counted twice, and no
//     metric of a library is changed.
package manager
