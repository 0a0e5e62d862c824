package runbook

import (
	"slices"
	"strings"
)

// Entry describes a reason. Names in capitals in its commands are placeholders; see the
// documentation of the package.
type Entry struct {
	// Reason is one of the reasons of package v1 or of kubectl shopfleet doctor, or the state of a replica of a database.
	Reason string
	// Meaning is one or more sentences.
	Meaning string
	// Check is a command that shows more; empty if the condition says everything.
	Check string
	// Remedy is a command, or a sentence, in the first line. Further lines explain it. It is
	// empty if the reason requires no action.
	Remedy string
}

// Section represents the entries of one subject.
type Section struct {
	Title   string
	Entries []Entry
}

// Sections returns all entries, by subject.
func Sections() []Section {
	return []Section{
		{"Members: connection", memberConnection()},
		{"Members: identity", memberIdentity()},
		{"Members: credentials and permissions", memberCredentials()},
		{"Members: agent", memberAgent()},
		{"Members: storage", memberStorage()},
		{"Applications: progress", slices.Concat(appProgress(), appPods())},
		{"Applications: service", appService()},
		{"Applications: failures", appFailures()},
		{"Applications: lost data", lostDatabase()},
		{"Applications: rollout", rollouts()},
		{"Applications: replicas of the database", replicas()},
		{"Applications: deletion", appDeletion()},
		{"Placement", placementFailures()},
		{"Placement: rejected clusters", placementRejections()},
		{"Backups: progress", backupProgress()},
		{"Backups: failures", backupFailures()},
		{"Restores", restores()},
		{"Cloud accounts", cloudAccounts()},
		{"Plans", plans()},
		{"Doctor: the hub", doctorOfHub()},
		{"Doctor: versions", doctorOfVersions()},
	}
}

// Entries returns the entries of all sections.
func Entries() []Entry {
	all := make([]Entry, 0, 128)
	for _, s := range Sections() {
		all = append(all, s.Entries...)
	}
	return all
}

// Lookup returns the entry of a reason, and whether there is one.
func Lookup(reason string) (Entry, bool) {
	all := Entries()
	i := slices.IndexFunc(all, func(e Entry) bool { return e.Reason == reason })
	if i < 0 {
		return Entry{}, false
	}
	return all[i], true
}

// Explain returns the entry of an alert, a reason or a state of a replica, whatever the case of its letters, and whether
// there is one.
func Explain(name string) (Entry, bool) {
	for _, e := range slices.Concat(Alerts(), Entries()) {
		if strings.EqualFold(e.Reason, name) {
			return e, true
		}
	}
	return Entry{}, false
}

// Remedy returns what to do about a reason in one line, a command or a sentence. It is empty
// if the reason is unknown or requires no action.
func Remedy(reason string) string {
	e, _ := Lookup(reason)
	line, _, _ := strings.Cut(e.Remedy, "\n")
	return line
}
