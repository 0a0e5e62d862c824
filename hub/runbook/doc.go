// Package runbook holds an entry for each reason of a condition or of a check of kubectl shopfleet
// doctor, and for each state of a replica of a database: its meaning, a command that shows more, and
// the remedy.
//
// # Purpose
//
// An operator who is woken by an alert or by a condition that is False looks the reason up.
// Lookup and Remedy serve programs. hub/RUNBOOK.md and hub/REASONS.md are the same table as pages; make generate
// writes them.
//
// # Non-goals
//
// The package does not read conditions, and does not run commands. It does not repeat
// the message of a condition, which names the object and the cause.
//
// # Trade-offs
//
//   - A reason has one entry, also where conditions of several kinds have it. The entry then
//     names the kinds.
//   - Commands have placeholders in capitals, MEMBER, NAMESPACE, APP, COMPONENT, ACCOUNT, BACKUP, RESTORE
//     and FILE, because a page cannot know the names.
//   - The entries are Go values instead of a file that is parsed: the compiler checks that each
//     constant exists, and a test that each constant has an entry. Reasons that only doctor has are
//     literals here: the hub does not import the plugin.
package runbook
