package kwokstages

import _ "embed"

//go:embed stages.yaml
var stages string

// YAML returns the stages as a file for KWOK.
func YAML() []byte { return []byte(stages) }
