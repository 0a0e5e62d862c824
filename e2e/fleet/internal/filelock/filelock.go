package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

const (
	interval = 50 * time.Millisecond
	// quiet is how long a wait may last before it is announced.
	quiet      = 2 * time.Second
	permission = 0o600
)

// Lock is a lock that is held.
type Lock struct {
	file *os.File
}

// Acquire waits for the lock on the file, which it creates. A wait of more than two
// seconds is announced, once.
func Acquire(ctx context.Context, path string, announce func()) (*Lock, error) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	silence := time.NewTimer(quiet)
	defer silence.Stop()
	for {
		lock, err := try(path)
		if lock != nil || err != nil {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for lock %q: %w", path, context.Cause(ctx))
		case <-silence.C:
			announce()
		case <-ticker.C:
		}
	}
}

// Release gives the lock back. The file stays.
func (l *Lock) Release() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("releasing lock %q: %w", l.file.Name(), err)
	}
	return nil
}

// try returns nil if another process holds the lock.
func try(path string) (*Lock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, permission)
	if err != nil {
		return nil, fmt.Errorf("opening lock %q: %w", path, err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil && current(file, path) {
		return &Lock{file: file}, nil
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = nil
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("taking lock %q: %w", path, err)
	}
	return nil, nil
}

// current reports whether the path still names the file: its last holder may have
// removed it in between.
func current(file *os.File, path string) bool {
	ours, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(ours, there)
}
