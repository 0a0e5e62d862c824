package filelock_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/e2e/fleet/internal/filelock"
)

func TestLocksTakeTurns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := filelock.Acquire(t.Context(), path, func() { t.Error("a free lock was waited for") })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := filelock.Acquire(ctx, path, func() {}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("taking a lock that is held: got %v, want the deadline", err)
	}

	second := make(chan error, 1)
	waiting := make(chan struct{})
	go func() {
		close(waiting)
		lock, err := filelock.Acquire(t.Context(), path, func() {})
		if err == nil {
			err = lock.Release()
		}
		second <- err
	}()
	<-waiting
	// The file is removed while it is locked: a waiter must not lock the removed file.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	if err := <-second; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the second lock's file: %v", err)
	}
}
