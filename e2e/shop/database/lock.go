package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

const (
	// lockKey is any number that no other program takes in the shop's database.
	lockKey = 7326115

	// lockSlice is how long MySQL waits for a lock before it is asked again: it
	// goes on waiting for a client that is gone.
	lockSlice    = 5
	unlockWithin = 5 * time.Second
)

// Exclusively calls fn with a connection that holds a lock on the whole database
// of the configuration; others that call it wait, also in other processes, until
// the context ends. The server releases the lock of a process that dies.
func (d *DB) Exclusively(ctx context.Context, fn func(context.Context, *sql.Conn) error) error {
	conn, err := d.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if err := d.lock(ctx, conn); err != nil {
		discard(conn)
		return fmt.Errorf("locking the database: %w", err)
	}
	err = fn(ctx, conn)
	if unlockErr := d.unlock(ctx, conn); unlockErr != nil {
		discard(conn)
	}
	return err
}

func (d *DB) lock(ctx context.Context, conn *sql.Conn) error {
	if d.engine == PostgreSQL {
		_, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", lockKey)
		return err
	}
	for {
		var got sql.NullInt64
		row := conn.QueryRowContext(ctx, "SELECT GET_LOCK(CONCAT('shop:', SHA2(DATABASE(), 224)), ?)", lockSlice)
		if err := row.Scan(&got); err != nil {
			return err
		}
		if !got.Valid {
			return errors.New("the server gave no lock")
		}
		if got.Int64 == 1 {
			return nil
		}
	}
}

func (d *DB) unlock(ctx context.Context, conn *sql.Conn) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockWithin)
	defer cancel()
	if d.engine == PostgreSQL {
		_, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", lockKey)
		return err
	}
	_, err := conn.ExecContext(ctx, "DO RELEASE_LOCK(CONCAT('shop:', SHA2(DATABASE(), 224)))")
	return err
}

// discard closes a connection instead of giving it back, and thereby its lock.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
}
