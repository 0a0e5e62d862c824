package storetest

import (
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/e2e/shop"
	"github.com/shopfleet/shopfleet/e2e/shop/httpapi"
)

func TestMemory(t *testing.T) {
	Contract(t, func(_ *testing.T, release shop.Release, now func() time.Time) httpapi.Store {
		return NewMemory(release, now)
	})
}
