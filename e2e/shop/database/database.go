package database

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// Engine is a kind of database server.
type Engine string

// The engines, as DB_ENGINE names them.
const (
	PostgreSQL Engine = "postgresql"
	MySQL      Engine = "mysql"
)

const (
	// connections of one process: many replicas share a server's hundred.
	connections    = 5
	connectTimeout = 3 * time.Second
	// lifetime bounds how long a connection may lead to a server that is no
	// longer the primary.
	lifetime = time.Minute

	firstDelay = 20 * time.Millisecond
	lastDelay  = 500 * time.Millisecond
)

// Config holds the address of the database and its credentials. It never prints its password.
type Config struct {
	Engine   Engine
	Host     string
	Port     int
	Name     string
	User     string
	Password string
}

// String returns the address without the password, for logs.
func (c Config) String() string {
	return fmt.Sprintf("%s database %q on %s", c.Engine, c.Name, c.address())
}

// GoString returns the same as String.
func (c Config) GoString() string { return c.String() }

func (c Config) address() string { return net.JoinHostPort(c.Host, strconv.Itoa(c.Port)) }

// FromEnv reads the variables that the operator hands to a backend. The error
// names everything that is wrong.
func FromEnv(getenv func(string) string) (Config, error) {
	c := Config{
		Engine:   Engine(getenv("DB_ENGINE")),
		Host:     getenv("DB_HOST"),
		Name:     getenv("DB_NAME"),
		User:     getenv("DB_USER"),
		Password: getenv("DB_PASSWORD"),
	}
	var problems []error
	for _, name := range []string{"DB_HOST", "DB_NAME", "DB_USER", "DB_PASSWORD"} {
		if getenv(name) == "" {
			problems = append(problems, fmt.Errorf("%s is not set", name))
		}
	}
	standard := 0
	switch c.Engine {
	case PostgreSQL:
		standard = 5432
	case MySQL:
		standard = 3306
	default:
		problems = append(problems, fmt.Errorf("DB_ENGINE is %q, want %q or %q", c.Engine, PostgreSQL, MySQL))
	}
	port, err := strconv.Atoi(cmp.Or(getenv("DB_PORT"), strconv.Itoa(standard)))
	if err != nil || port < 0 || port > 65535 {
		problems = append(problems, fmt.Errorf("DB_PORT is not a port: %q", getenv("DB_PORT")))
	}
	c.Port = port
	return c, errors.Join(problems...)
}

// DB is a pool of connections to a database of either engine.
type DB struct {
	*sql.DB

	engine Engine
}

// Open returns a pool for the database without connecting to it.
func Open(c Config) (*DB, error) {
	var pool *sql.DB
	switch c.Engine {
	case PostgreSQL:
		// The server must be the primary: a replica would refuse orders.
		address := url.URL{
			Scheme: "postgres", User: url.UserPassword(c.User, c.Password), Host: c.address(), Path: "/" + c.Name,
			RawQuery: "sslmode=prefer&target_session_attrs=read-write",
		}
		config, err := pgx.ParseConfig(address.String())
		if err != nil {
			return nil, fmt.Errorf("configuring the %s: %w", c, err)
		}
		config.ConnectTimeout = connectTimeout
		pool = stdlib.OpenDB(*config)
	case MySQL:
		config := mysql.NewConfig()
		config.User, config.Passwd, config.DBName = c.User, c.Password, c.Name
		config.Net, config.Addr = "tcp", c.address()
		config.Timeout = connectTimeout
		config.ParseTime, config.Loc = true, time.UTC
		config.InterpolateParams = true
		config.RejectReadOnly = true
		config.TLSConfig = "preferred"
		config.Logger = &mysql.NopLogger{}
		connector, err := mysql.NewConnector(config)
		if err != nil {
			return nil, fmt.Errorf("configuring the %s: %w", c, err)
		}
		pool = sql.OpenDB(connector)
	default:
		return nil, fmt.Errorf("unknown database engine %q", c.Engine)
	}
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	pool.SetConnMaxLifetime(lifetime)
	return &DB{DB: pool, engine: c.Engine}, nil
}

// Engine returns the kind of the server.
func (d *DB) Engine() Engine { return d.engine }

// Bind writes the placeholders ? of a query in the engine's way. The query must
// not contain a question mark elsewhere.
func (d *DB) Bind(query string) string {
	if d.engine == MySQL {
		return query
	}
	var b strings.Builder
	for n := 1; ; n++ {
		before, after, found := strings.Cut(query, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("$" + strconv.Itoa(n))
		query = after
	}
}

// Retry calls op again, at growing intervals of 20 ms to half a second, while it
// fails for a reason that passes by itself and the context lasts. op must be
// safe to repeat: the connection may break after a commit and before its answer.
func (d *DB) Retry(ctx context.Context, op func(context.Context) error) error {
	for delay := firstDelay; ; delay = min(2*delay, lastDelay) {
		err := op(ctx)
		if err == nil || !Transient(err) {
			return err
		}
		if !Pause(ctx, delay) {
			return err
		}
	}
}

// Pause waits for between half and all of d. It returns false when the context
// ends first.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d/2 + rand.N(d/2+1))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
