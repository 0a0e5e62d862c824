// The definitions of the Prometheus operator, which tests hold config/monitoring against.
module github.com/shopfleet/shopfleet/config/tools/prometheus-operator

go 1.26.3

require github.com/prometheus-operator/prometheus-operator v0.92.0
