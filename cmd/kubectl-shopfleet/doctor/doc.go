// Package doctor decides what is wrong with a hub and its members, and what to do about it.
//
// # Purpose
//
// Hub and Member turn what was read into checks, each with a reason and a remedy. Skew
// compares versions. All functions are pure.
//
// # Non-goals
//
// The package reads nothing: package commands does. The remedies of conditions are in
// hub/runbook.
//
// # Trade-offs
//
//   - A member is judged by its conditions, which the hub observes, and not by requests of
//     the plugin: a user needs no access to members, and sees what the hub sees.
//   - Conditions that only follow from another one are left out, so that one cause is one
//     line: Ready, and those that are not checked before the first one succeeds.
//   - What the user may not read is unknown, and does not fail.
//   - What a hub of an earlier release lacks is said, and does not fail: this program does not know
//     which of it that release had.
package doctor
