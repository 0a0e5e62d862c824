package azure

import (
	"testing"

	"github.com/shopfleet/shopfleet/cloud/cloudtest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	cloudtest.Run(t, newBackend)
}
