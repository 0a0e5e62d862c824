package bench_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
)

// burstBound bounds how long anything takes in a burst, on a busy machine.
const burstBound = 15 * time.Minute

// within blocks until a check is true. The check says how far it is.
func within(b *testing.B, what string, check func() (done bool, state string)) {
	b.Helper()
	fleettest.Within(b, burstBound, what, func(context.Context) error {
		if done, state := check(); !done {
			return errors.New(state)
		}
		return nil
	})
}

func plural(n, of int) string { return fmt.Sprintf("%d of %d", n, of) }
