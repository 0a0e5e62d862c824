package store

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/e2e/shop"
	"github.com/shopfleet/shopfleet/e2e/shop/database"
	"github.com/shopfleet/shopfleet/e2e/shop/dbtest"
	"github.com/shopfleet/shopfleet/e2e/shop/httpapi"
	"github.com/shopfleet/shopfleet/e2e/shop/migrate"
	"github.com/shopfleet/shopfleet/e2e/shop/store/storetest"
)

func TestStore(t *testing.T) {
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			server := dbtest.Start(t, engine)
			storetest.Contract(t, func(t *testing.T, release shop.Release, now func() time.Time) httpapi.Store {
				t.Helper()
				db := server.Open(t)
				install(t, db, release)
				return New(db, release, now)
			})
			t.Run("ten replicas start at once", func(t *testing.T) { startTogether(t, server) })
			t.Run("two releases share a schema", func(t *testing.T) { twoReleases(t, server.Open(t)) })
			t.Run("half a migration is finished", func(t *testing.T) { halfMigrated(t, server.Open(t)) })
			// The last: it takes the server away.
			t.Run("the server is lost and comes back", func(t *testing.T) { lostServer(t, server) })
		})
	}
}

func install(t *testing.T, db *database.DB, release shop.Release) {
	t.Helper()
	if err := migrate.Run(t.Context(), db, Schema(db.Engine(), release), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatalf("migrating: %v", err)
	}
}

func startTogether(t *testing.T, server *dbtest.Server) {
	t.Helper()
	const replicas = 10
	config := server.Database(t)
	var pools []*database.DB
	for range replicas {
		pools = append(pools, dbtest.Connect(t, config))
	}
	log := slog.New(slog.DiscardHandler)
	failures := make(chan error, replicas)
	var ready sync.WaitGroup
	ready.Add(replicas)
	for _, db := range pools {
		go func() {
			ready.Done()
			ready.Wait()
			failures <- migrate.Run(t.Context(), db, Schema(db.Engine(), shop.NewRelease("v2.1.0")), log)
		}()
	}
	for range replicas {
		if err := <-failures; err != nil {
			t.Errorf("migrating: %v", err)
		}
	}
	versions := column(t, pools[0], "SELECT version FROM schema_migrations ORDER BY version")
	if diff := cmp.Diff([]int{1, 2, 3}, versions); diff != "" {
		t.Errorf("migrations (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{6}, column(t, pools[0], "SELECT COUNT(*) FROM products")); diff != "" {
		t.Errorf("products (-want +got):\n%s", diff)
	}
}

// twoReleases simulates a rolling update: the older release goes on taking orders after the newer one has changed the
// schema, and both read all of them.
func twoReleases(t *testing.T, db *database.DB) {
	t.Helper()
	before, after := shop.NewRelease("v2.0.0"), shop.NewRelease("v2.1.0")
	now := storetest.Clock()
	oldStore, newStore := New(db, before, now), New(db, after, now)
	if err := oldStore.Ready(t.Context()); err == nil {
		t.Error("ready before any migration")
	}
	install(t, db, before)
	if err := newStore.Ready(t.Context()); !errors.Is(err, shop.ErrUnavailable) {
		t.Errorf("the newer release on the older schema is ready: %v", err)
	}
	draft := shop.Draft{Customer: "Ada", Note: "for you", Items: []shop.Item{{ProductID: "filters", Quantity: 1}}}
	place := func(s *Store, key string) {
		if _, _, err := s.PlaceOrder(t.Context(), key, draft); err != nil {
			t.Fatalf("placing %s: %v", key, err)
		}
	}
	place(oldStore, "old-before")
	install(t, db, after)
	place(oldStore, "old-after")
	place(newStore, "new-after")
	install(t, db, before) // A replica of the older release starts again.
	for name, s := range map[string]*Store{"older": oldStore, "newer": newStore} {
		if err := s.Ready(t.Context()); err != nil {
			t.Errorf("the %s release is not ready: %v", name, err)
		}
	}
	notes := func(s *Store) []string {
		orders, err := s.Orders(t.Context(), shop.Page{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		var notes []string
		for _, o := range orders {
			notes = append(notes, o.Note)
		}
		return notes
	}
	if diff := cmp.Diff([]string{"for you", "", ""}, notes(newStore)); diff != "" {
		t.Errorf("notes in the newer release (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"", "", ""}, notes(oldStore)); diff != "" {
		t.Errorf("notes in the older release (-want +got):\n%s", diff)
	}
}

// halfMigrated checks that a migration can be repeated in MySQL after a process died
// between a change and its record in schema_migrations.
func halfMigrated(t *testing.T, db *database.DB) {
	t.Helper()
	release := shop.NewRelease("v2.1.0")
	install(t, db, release)
	if _, err := db.ExecContext(t.Context(), "DELETE FROM schema_migrations"); err != nil {
		t.Fatal(err)
	}
	install(t, db, release)
	if diff := cmp.Diff([]int{6}, column(t, db, "SELECT COUNT(*) FROM products")); diff != "" {
		t.Errorf("products (-want +got):\n%s", diff)
	}
}

func lostServer(t *testing.T, server *dbtest.Server) {
	t.Helper()
	db := server.Open(t)
	release := shop.NewRelease("v2.1.0")
	install(t, db, release)
	s := New(db, release, storetest.Clock())
	draft := shop.Draft{Customer: "Ada", Items: []shop.Item{{ProductID: "filters", Quantity: 1}}}
	if _, _, err := s.PlaceOrder(t.Context(), "before-00", draft); err != nil {
		t.Fatal(err)
	}
	server.Kill(t)
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, _, err := s.PlaceOrder(short, "during-00", draft); !errors.Is(err, shop.ErrUnavailable) {
		t.Errorf("placing without a server: %v, want %v", err, shop.ErrUnavailable)
	}
	// A call that is under way while the server comes back succeeds.
	patient, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	placed := make(chan error, 1)
	go func() {
		_, _, err := s.PlaceOrder(patient, "during-01", draft)
		placed <- err
	}()
	server.Start(t)
	if err := <-placed; err != nil {
		t.Errorf("placing while the server starts: %v", err)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("not ready after the server is back: %v", err)
	}
	if diff := cmp.Diff([]int{2}, column(t, db, "SELECT COUNT(*) FROM orders")); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
}

func column(t *testing.T, db *database.DB, query string) []int {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var values []int
	for rows.Next() {
		var n int
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		values = append(values, n)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return values
}
