package backupenv

import (
	"errors"
	"testing"
)

func TestTakesAll(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]struct {
		all bool
		err error
	}{"": {}, everything: {all: true}, "backup": {err: errCrash}, "nosuch": {err: errCrash}} {
		if all, err := takesAll(value); all != want.all || !errors.Is(err, want.err) {
			t.Errorf("%q: %t, error %v, want %t, error %v", value, all, err, want.all, want.err)
		}
	}
}
