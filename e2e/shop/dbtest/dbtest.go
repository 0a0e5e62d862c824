package dbtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/e2e/shop/database"
)

const (
	user = "shop"
	// marks begin each password: what connection strings give a meaning to.
	marks = "@ /:#%?&=+"

	startWithin = 60 * time.Second
	stopWithin  = 20 * time.Second
)

// Server is a database server of a test.
type Server struct {
	engine    engine
	folder    string
	port      int
	password  string
	process   *Process
	databases atomic.Int32
}

// Engines returns the kinds of servers that the shop works with.
func Engines() []database.Engine { return []database.Engine{database.PostgreSQL, database.MySQL} }

// Start runs a server until the test ends. It skips the test where the server is
// not installed.
func Start(t testing.TB, kind database.Engine) *Server {
	t.Helper()
	e, err := find(kind)
	if err != nil {
		t.Skip(err)
	}
	// Servers refuse to run as root, and a test's own folder is closed to others.
	folder := t.TempDir()
	if os.Getuid() == 0 {
		err := errors.Join(os.Chmod(filepath.Dir(folder), 0o711), os.Chown(folder, unprivileged, unprivileged))
		if err != nil {
			t.Fatalf("handing over the folder: %v", err)
		}
	}
	s := &Server{engine: e, folder: folder, port: FreePort(t), password: marks + rand.Text()}
	if err := os.WriteFile(s.path("setup"), []byte(e.setup(s.password)), 0o644); err != nil {
		t.Fatalf("writing the setup: %v", err)
	}
	create := e.create(s)
	output, err := Command{Path: create[0], Args: create[1:], Folder: folder, Unprivileged: true}.Run(t.Context())
	if err != nil {
		t.Fatalf("creating a %s server: %v\n%s", kind, err, output)
	}
	s.Start(t)
	t.Cleanup(func() { s.Kill(t) })
	return s
}

// Start runs the server again, on the same port and data.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	run := s.engine.run(s)
	process, err := StartProcess(t, Command{Path: run[0], Args: run[1:], Folder: s.folder, Unprivileged: true})
	if err != nil {
		t.Fatalf("starting the server: %v", err)
	}
	s.process = process
	admin, err := database.Open(s.config(s.engine.admin()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), startWithin)
	defer cancel()
	for {
		err := admin.PingContext(ctx)
		if err == nil {
			return
		}
		if process.Ended() || !database.Pause(ctx, 100*time.Millisecond) {
			t.Fatalf("waiting for the server: %v\n%s", err, process.Output())
		}
	}
}

// Kill ends the server as a lost machine would: nothing is written or said.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	s.process.Signal(s.engine.kill())
	_ = s.process.Wait(t, stopWithin) // It says that it was killed.
}

// Stop ends the server in order.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	s.process.Signal(s.engine.stop())
	if err := s.process.Wait(t, stopWithin); err != nil {
		t.Errorf("stopping the server: %v\n%s", err, s.process.Output())
	}
}

// Database makes a new, empty database.
func (s *Server) Database(t testing.TB) database.Config {
	t.Helper()
	admin, err := database.Open(s.config(s.engine.admin()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	name := fmt.Sprintf("shop_%d", s.databases.Add(1))
	if _, err := admin.ExecContext(t.Context(), s.engine.createDatabase(name)); err != nil {
		t.Fatalf("making a database: %v", err)
	}
	return s.config(name)
}

// Open makes a database and returns a pool for it.
func (s *Server) Open(t testing.TB) *database.DB {
	t.Helper()
	return Connect(t, s.Database(t))
}

// Connect returns a pool that the test's end closes.
func Connect(t testing.TB, c database.Config) *database.DB {
	t.Helper()
	db, err := database.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Environment returns the variables that the operator would hand to a backend.
func Environment(c database.Config) []string {
	return []string{
		"DB_ENGINE=" + string(c.Engine), "DB_HOST=" + c.Host, fmt.Sprintf("DB_PORT=%d", c.Port),
		"DB_NAME=" + c.Name, "DB_USER=" + c.User, "DB_PASSWORD=" + c.Password,
	}
}

// FreePort returns a port of the loopback interface that is free.
func FreePort(t testing.TB) int {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("looking for a port: %v", err)
	}
	defer func() { _ = l.Close() }()
	address, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("not a port: %v", l.Addr())
	}
	return address.Port
}

func (s *Server) config(name string) database.Config {
	return database.Config{
		Engine: s.engine.kind(), Host: "127.0.0.1", Port: s.port, Name: name, User: user, Password: s.password,
	}
}

func (s *Server) path(name string) string { return filepath.Join(s.folder, name) }

// locate returns the first of some programs that there is, in PATH or in further
// folders, of which the last in order is the newest.
func locate(patterns []string, missing string) (string, error) {
	for _, pattern := range patterns {
		if !strings.Contains(pattern, "/") {
			for _, folder := range filepath.SplitList(os.Getenv("PATH")) {
				if isProgram(filepath.Join(folder, pattern)) {
					return filepath.Join(folder, pattern), nil
				}
			}
			continue
		}
		found, err := filepath.Glob(pattern)
		if err != nil {
			return "", fmt.Errorf("looking for %q: %w", pattern, err)
		}
		if len(found) > 0 && isProgram(found[len(found)-1]) {
			return found[len(found)-1], nil
		}
	}
	return "", errors.New(missing)
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// engine is how one kind of server is run.
type engine struct {
	name     database.Engine
	programs map[string]string
}

func (e engine) kind() database.Engine { return e.name }

// kill returns the signal that ends a server and its children at once.
func (e engine) kill() syscall.Signal {
	if e.name == database.PostgreSQL {
		return syscall.SIGQUIT // Its children would outlive a killed postmaster.
	}
	return syscall.SIGKILL
}

func (e engine) stop() syscall.Signal {
	if e.name == database.PostgreSQL {
		return syscall.SIGINT
	}
	return syscall.SIGTERM
}
