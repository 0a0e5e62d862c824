package database

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
)

func TestFromEnv(t *testing.T) {
	full := map[string]string{
		"DB_ENGINE": "postgresql", "DB_HOST": "db", "DB_PORT": "6432", "DB_NAME": "n", "DB_USER": "u", "DB_PASSWORD": "p@ss",
	}
	with := func(name, value string) map[string]string {
		env := maps.Clone(full)
		env[name] = value
		return env
	}
	cases := map[string]struct {
		env  map[string]string
		port int
		err  string
	}{
		"full":           {full, 6432, ""},
		"standard port":  {with("DB_PORT", ""), 5432, ""},
		"MySQL's":        {with("DB_ENGINE", "mysql"), 6432, ""},
		"unknown engine": {with("DB_ENGINE", "oracle"), 6432, `DB_ENGINE is "oracle", want "postgresql" or "mysql"`},
		"no host":        {with("DB_HOST", ""), 6432, "DB_HOST is not set"},
		"no password":    {with("DB_PASSWORD", ""), 6432, "DB_PASSWORD is not set"},
		"no port":        {with("DB_PORT", "http"), 0, `DB_PORT is not a port: "http"`},
		"no such port":   {with("DB_PORT", "65536"), 65536, `DB_PORT is not a port: "65536"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := FromEnv(func(name string) string { return c.env[name] })
			message := ""
			if err != nil {
				message = err.Error()
			}
			if diff := cmp.Diff(c.err, message); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if got.Port != c.port {
				t.Errorf("port %d, want %d", got.Port, c.port)
			}
		})
	}
}

func TestConfigKeepsItsSecret(t *testing.T) {
	c := Config{Engine: MySQL, Host: "db", Port: 3306, Name: "n", User: "u", Password: "hidden"}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if text := fmt.Sprintf(format, c); strings.Contains(text, "hidden") {
			t.Errorf("%s prints %s", format, text)
		}
	}
}

func TestBind(t *testing.T) {
	const query = "SELECT a FROM b WHERE c = ? AND d = ?"
	if got := (&DB{engine: PostgreSQL}).Bind(query); got != "SELECT a FROM b WHERE c = $1 AND d = $2" {
		t.Errorf("PostgreSQL: %s", got)
	}
	if got := (&DB{engine: MySQL}).Bind(query); got != query {
		t.Errorf("MySQL: %s", got)
	}
}

func TestTransient(t *testing.T) {
	cases := map[string]struct {
		err  error
		want bool
	}{
		"nothing":               {nil, false},
		"unknown":               {errors.New("x"), false},
		"canceled":              {context.Canceled, false},
		"refused":               {fmt.Errorf("x: %w", &net.OpError{Op: "dial", Err: errors.New("refused")}), true},
		"cut":                   {fmt.Errorf("x: %w", io.ErrUnexpectedEOF), true},
		"bad connection":        {driver.ErrBadConn, true},
		"MySQL's bad one":       {mysql.ErrInvalidConn, true},
		"PostgreSQL stops":      {&pgconn.PgError{Code: "57P01"}, true},
		"PostgreSQL deadlock":   {&pgconn.PgError{Code: "40P01"}, true},
		"PostgreSQL connection": {&pgconn.PgError{Code: "08006"}, true},
		"PostgreSQL syntax":     {&pgconn.PgError{Code: "42601"}, false},
		"PostgreSQL password":   {&pgconn.PgError{Code: "28P01"}, false},
		"PostgreSQL duplicate":  {&pgconn.PgError{Code: "23505"}, false},
		"MySQL deadlock":        {&mysql.MySQLError{Number: 1213}, true},
		"MySQL read only":       {&mysql.MySQLError{Number: 1290}, true},
		"MySQL syntax":          {&mysql.MySQLError{Number: 1064}, false},
		"MySQL duplicate":       {&mysql.MySQLError{Number: 1062}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Transient(c.err); got != c.want {
				t.Errorf("transient: %v, want %v", got, c.want)
			}
			if got, want := Duplicate(c.err), strings.HasSuffix(name, "duplicate"); got != want {
				t.Errorf("duplicate: %v, want %v", got, want)
			}
		})
	}
}

func TestRetry(t *testing.T) {
	db := &DB{engine: PostgreSQL}
	final := errors.New("final")
	cases := map[string]struct {
		results []error // The last is given again and again.
		want    error
		calls   int
	}{
		"at once":      {[]error{nil}, nil, 1},
		"later":        {[]error{driver.ErrBadConn, driver.ErrBadConn, nil}, nil, 3},
		"never":        {[]error{final}, final, 1},
		"later, wrong": {[]error{driver.ErrBadConn, final}, final, 2},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			calls := 0
			err := db.Retry(t.Context(), func(context.Context) error {
				calls++
				return c.results[min(calls, len(c.results))-1]
			})
			if !errors.Is(err, c.want) || calls != c.calls {
				t.Errorf("%d calls, error %v; want %d, %v", calls, err, c.calls, c.want)
			}
		})
	}
	t.Run("until the context ends", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		err := db.Retry(ctx, func(context.Context) error {
			if calls++; calls == 3 {
				cancel()
			}
			return driver.ErrBadConn
		})
		if !errors.Is(err, driver.ErrBadConn) || calls != 3 {
			t.Errorf("%d calls, error %v", calls, err)
		}
	})
}
