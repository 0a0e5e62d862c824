// Package serve is what the shop's processes have in common: listening, probes,
// metrics, logs of requests, deadlines, and an end that loses no request.
//
// # Purpose
//
// New adds /healthz, /readyz and /metrics to a handler; Run serves until it receives a
// signal, then drains.
//
// # Non-goals
//
// No pages and no API.
//
// # Trade-offs
//
// Metrics and probes share the port of the shop, the only one that the operator knows; every
// client of the shop can read them.
package serve
