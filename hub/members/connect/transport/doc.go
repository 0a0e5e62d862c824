// Package transport provides the HTTP transport of one member cluster, with deadlines,
// rate limits and a probe.
//
// # Purpose
//
//   - Open returns a Transport for a client configuration. All clients of a member share
//     its connections. Caches and reconcilers use LimitedConfig, with one limit for writes
//     of copies, one for other writes and one for reads, so that a change by a user does not
//     wait for hundreds of children; what keeps the connection uses Config, without limits.
//   - Every request has a deadline that covers headers and body. For a list it covers each
//     wait for more of the body, and for a watch the headers; after that, HTTP/2 pings
//     detect dead connections, and package watchtimeout silent ones.
//   - Probe reads the namespace kube-system, bypassing the limits and all caches: success
//     means that the cluster responds, accepts the credentials and has the returned identity.
//   - Classify turns an error into a Fault: a condition reason and a deterministic
//     message without addresses or ports.
//
// # Non-goals
//
// The package does not retry and has no state: the accessor of a member decides when to retry.
//
// # Trade-offs
//
//   - rest.Config.Timeout would end watches too, so an http.RoundTripper enforces the
//     deadlines. It is set as the configuration's Transport, so that every client that
//     is created from the configuration has them.
//   - client-go's cached transports are not used, so that the transport can be closed
//     with the member, and so that pings are sent after 10 s instead of 30 s.
//   - The limits exist to bound what a mistake in a controller costs a member. Their
//     bursts cover 50 new applications, so that the member's API server, which knows its
//     load, is what slows the hub down.
//   - Requests to other hosts than the member's are rejected, which also blocks
//     redirects: a member must not make the hub send requests elsewhere.
package transport
