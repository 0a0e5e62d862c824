// Package serve is what the shop's processes have in common: listening, probes,
// metrics, logs of requests, deadlines, and an end that loses no request.
//
// What: New puts /healthz, /readyz and /metrics beside a handler; Run serves until
// it is told to stop, then drains.
//
// Not: no pages and no API.
//
// Trade-offs: metrics and probes share the port of the shop, which is the one that
// the operator knows of; whoever reaches the shop can read them.
package serve
