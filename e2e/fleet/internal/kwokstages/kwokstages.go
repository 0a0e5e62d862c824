package kwokstages

import (
	_ "embed"
	"strings"
)

//go:embed stages.yaml
var stages string

//go:embed ingresses.yaml
var ingresses string

//go:embed jobs.yaml
var jobs string

//go:embed volumes.yaml
var volumes string

// Left documents what is not simulated.
type Left struct {
	// Driver is the storage driver, Jobs the end of the pods of Jobs.
	Driver, Jobs bool
}

// YAML returns the stages as a file for KWOK.
func YAML(left Left) []byte {
	files := []string{stages, ingresses}
	if !left.Jobs {
		files = append(files, jobs)
	}
	if !left.Driver {
		files = append(files, volumes)
	}
	return []byte(strings.Join(files, "---\n"))
}
