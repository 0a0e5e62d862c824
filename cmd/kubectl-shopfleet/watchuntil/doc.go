// Package watchuntil calls a function with the current objects of a query whenever they change.
//
// # Purpose
//
// A client-go Reflector lists, watches, and lists again when it has to, until
// the function has seen enough.
//
// # Non-goals
//
// The package has no cache to read from and no event handlers: informers have both.
//
// # Trade-offs
//
// The first list must succeed, so that a wrong address is an error at once and not an
// endless wait. Later errors are reported and retried every second without exponential
// backoff, because a user runs few watches, and for a short time. UntilWithSync of client-go
// does neither: its informer retries the first list for ever and reports no error. It also
// hands over events where every caller here needs the objects.
package watchuntil
