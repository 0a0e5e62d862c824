package kwokstages

import _ "embed"

//go:embed stages.yaml
var stages string

//go:embed volumes.yaml
var volumes string

// YAML returns the stages as a file for KWOK, with or without those of the storage
// driver.
func YAML(driver bool) []byte {
	if !driver {
		return []byte(stages)
	}
	return []byte(stages + "---\n" + volumes)
}
