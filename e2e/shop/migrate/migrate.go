package migrate

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"time"

	"github.com/shopfleet/shopfleet/e2e/shop/database"
)

const (
	firstDelay = 100 * time.Millisecond
	lastDelay  = 5 * time.Second
	// attemptWithin bounds one attempt of Await, waiting for other replicas
	// included.
	attemptWithin = time.Minute

	ledger = `CREATE TABLE IF NOT EXISTS schema_migrations (
	version INT NOT NULL PRIMARY KEY,
	name VARCHAR(100) NOT NULL
)`
)

// Migration is one change of the schema. Versions grow; once released, a
// migration does not change, and only adds to what is there.
type Migration struct {
	Version int
	Name    string
	Steps   []Step
}

// Step is one statement of a migration.
type Step struct {
	Do string
	// Unless is a query for a number; the step is left out when that is not 0.
	// MySQL commits each statement that changes the schema by itself, so a step
	// must know whether it was done by a process that died before it was noted.
	Unless string
}

// Run makes the changes of the plan that the database does not have yet, each
// together with its note in schema_migrations. Any number of processes may call
// it at once. Versions that the plan does not know are those of a newer release
// and stay.
func Run(ctx context.Context, db *database.DB, plan []Migration, log *slog.Logger) error {
	return db.Exclusively(ctx, func(ctx context.Context, conn *sql.Conn) error {
		if _, err := conn.ExecContext(ctx, ledger); err != nil {
			return fmt.Errorf("creating the list of migrations: %w", err)
		}
		for _, m := range plan {
			done, err := count(ctx, conn, db.Bind("SELECT COUNT(*) FROM schema_migrations WHERE version = ?"), m.Version)
			if err != nil {
				return fmt.Errorf("reading the list of migrations: %w", err)
			}
			if done > 0 {
				continue
			}
			if err := apply(ctx, db, conn, m); err != nil {
				return fmt.Errorf("applying migration %d (%s): %w", m.Version, m.Name, err)
			}
			log.InfoContext(ctx, "schema migrated", "version", m.Version, "name", m.Name)
		}
		return nil
	})
}

// Pending returns how many migrations of the plan the database lacks. It fails
// where none was ever run.
func Pending(ctx context.Context, db *database.DB, plan []Migration) (int, error) {
	pending := 0
	for _, m := range plan {
		done, err := count(ctx, db, db.Bind("SELECT COUNT(*) FROM schema_migrations WHERE version = ?"), m.Version)
		if err != nil {
			return 0, fmt.Errorf("reading the list of migrations: %w", err)
		}
		if done == 0 {
			pending++
		}
	}
	return pending, nil
}

// Await runs the plan as soon as the database lets it, at growing intervals of a
// tenth of a second to five seconds. It gives up when the context ends, with the
// last error. It retries every error, since a server that is still being set up also
// refuses its future users.
func Await(ctx context.Context, db *database.DB, plan []Migration, log *slog.Logger) error {
	for delay := firstDelay; ; delay = min(2*delay, lastDelay) {
		err := func() error {
			ctx, cancel := context.WithTimeout(ctx, attemptWithin)
			defer cancel()
			return Run(ctx, db, plan, log)
		}()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || !database.Pause(ctx, delay) {
			return fmt.Errorf("waiting for the database: %w", err)
		}
		log.WarnContext(ctx, "database is not ready yet", "error", err.Error())
	}
}

func apply(ctx context.Context, db *database.DB, conn *sql.Conn, m Migration) error {
	// Behind a change that waits for a table, everybody else waits as well.
	impatient := "SET LOCAL lock_timeout = '5s'"
	if db.Engine() == database.MySQL {
		impatient = "SET SESSION lock_wait_timeout = 5"
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("beginning: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, impatient); err != nil {
		return fmt.Errorf("bounding the wait: %w", err)
	}
	for i, step := range m.Steps {
		if err := step.run(ctx, tx); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	if _, err := tx.ExecContext(ctx, db.Bind("INSERT INTO schema_migrations (version, name) VALUES (?, ?)"), m.Version, m.Name); err != nil {
		return fmt.Errorf("noting it: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	return nil
}

func (s Step) run(ctx context.Context, tx *sql.Tx) error {
	if s.Unless != "" {
		done, err := count(ctx, tx, s.Unless)
		if err != nil {
			return fmt.Errorf("looking whether it is done: %w", err)
		}
		if done > 0 {
			return nil
		}
	}
	_, err := tx.ExecContext(ctx, s.Do)
	return err
}

// querier is a pool, a connection or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func count(ctx context.Context, q querier, query string, args ...any) (int, error) {
	n := 0
	err := q.QueryRowContext(ctx, query, args...).Scan(&n)
	return n, err
}
