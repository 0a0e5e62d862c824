// Package transport is the connection to one member cluster: its transport with
// deadlines, its shared limit of requests, and its probe.
//
// # What
//
//   - Open makes a Link of a client configuration. All clients of a member use the
//     link's Config and Client, so that they share connections and one limiter.
//   - Each request has a deadline, headers and body. A watch has one for its
//     headers; after that, HTTP/2 pings find out whether the other end lives.
//   - Probe asks for the kube-system namespace, past the limiter and past every
//     cache: it shows that the cluster answers, takes the credentials, and is the
//     one that it was.
//   - Classify turns an error into a Fault: what kind of trouble it is, and a
//     message that is the same for the same trouble, without addresses or ports.
//
// # Not
//
// No retries and no state: the accessor of a member decides when to try again.
//
// # Trade-offs
//
//   - rest.Config.Timeout would end watches too, so the deadlines live in a
//     http.RoundTripper. It is set as the configuration's Transport: whoever makes a
//     client of the configuration gets the deadlines, whether they know or not.
//   - The transport is our own and not from client-go's cache, so that it can be
//     closed with the member, and pings after 10 s instead of 30 s.
//   - Requests to another host than the member's are refused, which ends redirects:
//     a member must not make the hub ask other addresses, with its token or without.
package transport
