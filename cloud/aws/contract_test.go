package aws_test

import (
	"testing"

	"github.com/shopfleet/shopfleet/cloud/cloudtest"
)

// TestContract runs the contract with the real SDK against the fake EC2.
func TestContract(t *testing.T) {
	t.Parallel()
	m := loadModel(t)
	cloudtest.Run(t, func(t testing.TB) *cloudtest.Backend {
		t.Helper()
		return newTestEnv(t).backend(m)
	})
}
