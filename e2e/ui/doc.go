// Package ui tests the page of kubectl shopfleet ui in a browser, against a real fleet and a running hub.
//
// # Purpose
//
// What only a browser shows: that the page is live without being loaded again, that a region that does not answer is hatched
// and grows older until it answers, that a rollout is seen, that the page says when it is no longer live, and that axe-core
// finds nothing in light and dark. And what only an API server shows: a user who may not list a kind. The pictures of the
// screens are made by the same test, while a region does not answer: with SHOPFLEET_SCREENSHOTS set to a folder it writes
// them there.
//
// # Non-goals
//
// What a screen shows of which object: the golden files of the page have that. How fast it is: its benchmarks measure that.
//
// # Trade-offs
//
//   - Without a browser the steps that need one are skipped, and say which package has one. SHOPFLEET_BROWSER names a
//     program. axe-core comes through npm, by the lock of the page's own assets; its step is skipped without npm.
//   - The browser is told about scripts by the DevTools protocol, which the policy of the page does not stop.
package ui
