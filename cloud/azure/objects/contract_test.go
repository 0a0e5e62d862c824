package objects

import (
	"testing"

	"github.com/shopfleet/shopfleet/cloud/cloudtest/objects"
)

func TestContract(t *testing.T) {
	t.Parallel()
	objects.Run(t, newBench)
}
