package doctor

import (
	"regexp"
	"strings"

	"github.com/shopfleet/shopfleet/hub/runbook"
)

// kubectl begins a remedy that is a command.
const kubectl = "kubectl "

// IsCommand reports whether a remedy is a command that can be run as it is. One with a placeholder, or with a comment that
// says where it is to be run, is not.
func IsCommand(remedy string) bool {
	return strings.HasPrefix(remedy, kubectl) && !strings.Contains(remedy, " #") && !hasPlaceholder(remedy)
}

// remedyOf returns what the runbook advises about a reason, with pairs of a placeholder and its value. It is empty if
// there is nothing to do. A reason that several kinds have, or that does not say what a command needs, is to be explained:
// the command would be about another object, or about none. Only FILE, the kubeconfig of the user, may be left.
func remedyOf(reason string, values ...string) string {
	remedy := strings.NewReplacer(values...).Replace(runbook.Remedy(reason))
	if at := strings.Index(remedy, kubectl); at >= 0 && hasPlaceholder(strings.ReplaceAll(remedy[at:], "FILE", "")) {
		return explain(reason)
	}
	return remedy
}

// explain returns the command that prints all lines of a remedy.
func explain(reason string) string { return "kubectl shopfleet explain " + reason }

// hasPlaceholder reports whether a command has a name in capitals, or N for the number of a replica.
func hasPlaceholder(command string) bool {
	return regexp.MustCompile(`\b[A-Z]{2,}\b|-N\b`).MatchString(command)
}
