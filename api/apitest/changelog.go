package apitest

import "strings"

// RestartedWorkloads returns the workloads whose pods an upgrade to the unreleased version restarts, as
// the changelog says: its lines "- Restarts pods of WORKLOAD, WORKLOAD: REASON" before the first release.
func RestartedWorkloads(changelog string) []string {
	_, unreleased, _ := strings.Cut(changelog, "\n## [Unreleased]\n")
	unreleased, _, _ = strings.Cut(unreleased, "\n## ")
	var workloads []string
	for line := range strings.Lines(unreleased) {
		named, ok := strings.CutPrefix(line, "- Restarts pods of ")
		if !ok {
			continue
		}
		named, _, _ = strings.Cut(named, ":")
		workloads = append(workloads, strings.Split(named, ", ")...)
	}
	return workloads
}

// RenamingCommands returns the commands that rename fields of stored objects before an upgrade: on the hub,
// and where a spoke runs without one, which goes on in the same shell.
func RenamingCommands(changelog string) (hub, spoke string) {
	_, section, _ := strings.Cut(changelog, "\n### Renamed fields\n")
	section, _, _ = strings.Cut(section, "\n## ")
	onHub, onSpoke, _ := strings.Cut(section, "\n### ")
	return indented(onHub), indented(onSpoke)
}

// indented returns the indented lines of a page, which are commands.
func indented(text string) string {
	var commands strings.Builder
	for line := range strings.Lines(text) {
		if command, ok := strings.CutPrefix(line, "    "); ok {
			commands.WriteString(command)
		}
	}
	return commands.String()
}
