package controller

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// family is a metric of controller-runtime that has series for each controller.
type family struct{ name, help string }

// controllerFamilies returns the metrics that are labelled by the name of the controller, and
// queueFamilies the metrics that are labelled by the name of its queue.
func controllerFamilies() []family {
	return []family{
		{"controller_runtime_reconcile_errors_total", "Total number of reconciliation errors per controller"},
		{"controller_runtime_terminal_reconcile_errors_total", "Total number of terminal reconciliation errors per controller"},
		{"controller_runtime_reconcile_panics_total", "Total number of reconciliation panics per controller"},
		{"controller_runtime_reconcile_time_seconds", "Length of time per reconciliation per controller"},
		{"controller_runtime_max_concurrent_reconciles", "Maximum number of concurrent reconciles per controller"},
		{"controller_runtime_active_workers", "Number of currently used workers per controller"},
		{"controller_runtime_reconcile_timeouts_total", "Total number of reconciliation timeouts per controller"},
	}
}

func queueFamilies() []family {
	return []family{
		{"workqueue_adds_total", "Total number of adds handled by workqueue"},
		{"workqueue_queue_duration_seconds", "How long in seconds an item stays in workqueue before being requested"},
		{"workqueue_work_duration_seconds", "How long in seconds processing an item from workqueue takes."},
		{"workqueue_unfinished_work_seconds", "How many seconds of work has been done that " +
			"is in progress and hasn't been observed by work_duration. Large " +
			"values indicate stuck threads. One can deduce the number of stuck " +
			"threads by observing the rate at which this increases."},
		{"workqueue_longest_running_processor_seconds", "How many seconds has the longest running processor for workqueue been running."},
		{"workqueue_retries_total", "Total number of items added to the workqueue with a non-zero delay (rate-limited requeues, explicit RequeueAfter or AddAfter calls)"},
	}
}

// deleteSeries deletes what controller-runtime's metrics hold of a controller.
func deleteSeries(controller string) {
	remove := func(f family, labels ...string) {
		if vector := registered(prometheus.NewDesc(f.name, f.help, labels, nil)); vector != nil {
			vector.DeletePartialMatch(prometheus.Labels{"controller": controller})
		}
	}
	for _, f := range controllerFamilies() {
		remove(f, "controller")
	}
	remove(family{"controller_runtime_reconcile_total", "Total number of reconciliations per controller"}, "controller", "result")
	for _, f := range queueFamilies() {
		remove(f, "name", "controller")
	}
	remove(family{"workqueue_depth", "Current depth of workqueue by workqueue and priority"}, "name", "controller", "priority")
}

// DeleteHostSeries deletes what the metrics of client-go, which controller-runtime registers, hold
// of requests to an API server. The host may have a port. A request to it that ends later brings
// a series back.
func DeleteHostSeries(host string) {
	desc := prometheus.NewDesc("rest_client_requests_total",
		"Number of HTTP requests, partitioned by status code, method, and host.", []string{"code", "method", "host"}, nil)
	if vector := registered(desc); vector != nil {
		vector.DeletePartialMatch(prometheus.Labels{"host": host})
	}
}

// vector is any vector of metrics.
type vector interface {
	DeletePartialMatch(labels prometheus.Labels) int
}

// registered returns the vector with a description from the registry of
// controller-runtime, which keeps its vectors in an internal package. A registry hands out
// the collector that it has when the same one is registered again.
func registered(desc *prometheus.Desc) vector {
	probe := described{desc}
	err := metrics.Registry.Register(probe)
	if err == nil {
		metrics.Registry.Unregister(probe) // An unknown metric: controller-runtime changed.
		return nil
	}
	var already prometheus.AlreadyRegisteredError
	if !errors.As(err, &already) {
		return nil
	}
	found, _ := already.ExistingCollector.(vector)
	return found
}

// described is a collector of nothing.
type described struct{ desc *prometheus.Desc }

func (d described) Describe(descs chan<- *prometheus.Desc) { descs <- d.desc }
func (d described) Collect(chan<- prometheus.Metric)       {}
