package storetest

import (
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/e2e/shop"
	"github.com/shopfleet/shopfleet/e2e/shop/api"
)

func TestMemory(t *testing.T) {
	Contract(t, func(_ *testing.T, release shop.Release, now func() time.Time) api.Store {
		return NewMemory(release, now)
	})
}
