package objectstore

import (
	"fmt"
	"slices"
	"testing"
)

// Case is a case of the contract.
type Case struct {
	Number int
	Name   string
	Run    func(f *Fixture)
}

// Run runs all cases against a provider, each as a subtest with a backend of its own.
func Run(t *testing.T, build func(t testing.TB) *Backend) {
	t.Helper()
	for _, c := range cases() {
		t.Run(fmt.Sprintf("%02d %s", c.Number, c.Name), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, build)
			if reason := f.Unsupported[c.Number]; reason != "" {
				t.Skip("unsupported: " + reason)
			}
			c.Run(f)
		})
	}
}

// cases returns all cases, sorted by number.
func cases() []Case {
	return slices.Concat(contentCases(), listCases(), deletionCases(), signedCases(), failureCases(), refusalCases())
}
