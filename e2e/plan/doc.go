// Package plan tests kubectl shopfleet plan on a real fleet.
//
// # Purpose
//
// Plans of a new application, of edits, of moves and of what members refuse say what applying them
// does, and store nothing: resource versions and audit logs show it. The admission policy rejects a
// forged requester, and the hub refuses a requester without permissions, and every Plan while there
// is no policy.
//
// # Non-goals
//
// Schemas, which package api tests, and what plans look like.
//
// # Trade-offs
//
// One fleet for all steps, of which some need others.
package plan
