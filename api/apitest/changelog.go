package apitest

import "strings"

// RestartedWorkloads returns the workloads whose pods an upgrade to the unreleased version restarts, as
// the changelog says: lines "- Restarts pods of WORKLOAD, WORKLOAD: REASON" of its first section, if the heading of that says
// that it is unreleased, as "## [Unreleased]" and "## [0.2.0] - unreleased" do.
func RestartedWorkloads(changelog string) []string {
	_, newest, _ := strings.Cut(changelog, "\n## ")
	heading, unreleased, _ := strings.Cut(newest, "\n")
	if !strings.Contains(strings.ToLower(heading), "unreleased") {
		return nil
	}
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
