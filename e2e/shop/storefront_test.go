package shop_test

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/e2e/shop/database"
	"github.com/shopfleet/shopfleet/e2e/shop/dbtest"
)

// endWithin bounds how long a process may take to stop: the drain and the grace.
const endWithin = 25 * time.Second

// TestStorefront runs the processes of a shop on a real database, and stops each of them
// in turn while customers order.
func TestStorefront(t *testing.T) {
	programs := build(t)
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) { storefront(t, programs, dbtest.Start(t, engine)) })
	}
}

func storefront(t *testing.T, programs programs, server *dbtest.Server) {
	t.Helper()
	config := server.Database(t)
	service := newService(t)

	// The backend is there first, and waits.
	server.Stop(t)
	older := programs.backend(t, "v2.0.0", config)
	older.awaitLog(t, "database is not ready yet")
	server.Start(t)
	older.open(t)
	service.switchTo(older.port)
	frontend := programs.frontend(t, "v2.1.0", service.address())
	frontend.open(t)
	if body := frontend.page(t, "/readyz"); !strings.Contains(body, "ok") {
		t.Errorf("the frontend is not ready: %s", body)
	}

	first := order(t, frontend)
	db := dbtest.Connect(t, config)
	customer := ""
	row := db.QueryRowContext(t.Context(), db.Bind("SELECT customer FROM orders WHERE id = ?"), first)
	if err := row.Scan(&customer); err != nil || customer != "Grace" {
		t.Fatalf("the order of the form is not in the database: %q, %v", customer, err)
	}

	customers := newCustomers(t, frontend)
	customers.goOn(t)

	// A rolling update: no request fails.
	newer := programs.backend(t, "v2.1.0", config)
	newer.open(t)
	customers.goOn(t)
	service.switchTo(newer.port)
	older.end(t)
	customers.goOn(t)
	if failures := customers.failures(); failures != nil {
		t.Errorf("requests failed in the rolling update: %v", failures)
	}

	// The backend is killed, and another one takes its place.
	newer.process.Signal(syscall.SIGKILL)
	_ = newer.process.Wait(t, endWithin)
	again := programs.backend(t, "v2.1.0", config)
	again.open(t)
	service.switchTo(again.port)
	customers.goOn(t)

	// The database is killed, and comes back.
	server.Kill(t)
	server.Start(t)
	customers.goOn(t)

	keys := customers.leave(t)
	keys[first] = true
	compareOrders(t, db, keys)
	if !strings.Contains(frontend.page(t, "/orders/"+first), first) {
		t.Error("the first order is lost")
	}
	frontend.end(t)
	again.end(t)
	for _, p := range []*program{older, newer, again, frontend} {
		p.keptSecret(t, config.Password)
	}
}

// compareOrders wants exactly the orders that customers have seen confirmed, each
// with its line.
func compareOrders(t *testing.T, db *database.DB, want map[string]bool) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT o.id FROM orders o JOIN order_lines l ON l.order_id = o.id")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	got, lines := map[string]bool{}, 0
	for rows.Next() {
		id := ""
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		got[id] = true
		lines++
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("orders (-confirmed +in the database):\n%s", diff)
	}
	if lines != len(want) {
		t.Errorf("%d lines of %d orders", lines, len(want))
	}
	t.Logf("%d orders", len(want))
}

// programs is the folder with what build has made.
type programs string

func build(t *testing.T) programs {
	t.Helper()
	folder := t.TempDir()
	for command, versions := range map[string][]string{"backend": {"v2.0.0", "v2.1.0"}, "frontend": {"v2.1.0"}} {
		for _, version := range versions {
			goBuild(t, filepath.Join(folder, command+"-"+version), command, version)
		}
	}
	return programs(folder)
}

func (p programs) backend(t *testing.T, version string, config database.Config) *program {
	t.Helper()
	return p.start(t, "backend-"+version, dbtest.Environment(config))
}

func (p programs) frontend(t *testing.T, version, backend string) *program {
	t.Helper()
	return p.start(t, "frontend-"+version, []string{"BACKEND_URL=http://" + backend, "SHOP_REGION=eu-west-1"})
}

func (p programs) start(t *testing.T, name string, environment []string) *program {
	t.Helper()
	port := dbtest.FreePort(t)
	process, err := dbtest.StartProcess(t, dbtest.Command{
		Path: filepath.Join(string(p), name), Args: []string{"-drain=100ms"},
		Environment: append(environment, fmt.Sprintf("PORT=%d", port)), Folder: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return &program{name: name, process: process, port: port}
}

// keptSecret looks for the password in all that a program has written.
func (p *program) keptSecret(t *testing.T, password string) {
	t.Helper()
	for _, secret := range []string{password, url.QueryEscape(password), url.PathEscape(password)} {
		if strings.Contains(p.process.Output(), secret) {
			t.Errorf("%s logged its password", p.name)
		}
	}
}
