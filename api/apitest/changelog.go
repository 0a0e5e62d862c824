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
