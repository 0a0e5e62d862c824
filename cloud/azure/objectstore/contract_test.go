package objectstore

import (
	"testing"

	"github.com/shopfleet/shopfleet/cloud/cloudtest/objectstore"
)

func TestContract(t *testing.T) {
	t.Parallel()
	objectstore.Run(t, newBackend)
}
