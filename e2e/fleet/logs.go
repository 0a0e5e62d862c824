package fleet

import (
	"fmt"
	"strings"

	"github.com/shopfleet/shopfleet/e2e/fleet/internal/logs"
	"github.com/shopfleet/shopfleet/e2e/fleet/internal/process"
)

// logTail returns the ends of the components' logs, to be appended to an error,
// with the names of the files.
func (c *Cluster) logTail(components ...Component) string {
	var text strings.Builder
	for _, component := range components {
		file := c.LogFile(component)
		tail, err := logs.Tail(file)
		if err != nil {
			tail = err.Error()
		}
		_, _ = fmt.Fprintf(&text, "\nend of %s:\n%s", file, tail)
	}
	return text.String()
}

// Diagnosis describes the cluster in a few lines, for the report of a failed test:
// its health, the components that ended without being stopped, and the last
// warnings and errors of each log, at most 15.
func (c *Cluster) Diagnosis() string {
	var text strings.Builder
	_, _ = fmt.Fprintf(&text, "cluster %q is %s", c.spec.Name, c.Health())
	for _, component := range c.spec.components() {
		if id := c.process(component); id != (process.ID{}) && id.State() == process.Gone {
			_, _ = fmt.Fprintf(&text, "\n%s ended by itself", component)
		}
		warnings, err := logs.Warnings(c.LogFile(component))
		if err != nil {
			warnings = []string{err.Error()}
		}
		if len(warnings) > 0 {
			_, _ = fmt.Fprintf(&text, "\nlast warnings of %s:\n  %s", component, strings.Join(warnings, "\n  "))
		}
	}
	return text.String()
}
