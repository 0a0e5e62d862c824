package database

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
)

// Duplicate reports whether a row was refused because its key is taken.
func Duplicate(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code == "23505"
	}
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return e.Number == 1062
	}
	return false
}

// Transient reports whether an error passes by itself: the connection broke, the
// server starts, stops, is full or a replica, or two transactions were in each
// other's way.
func Transient(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return transientPostgreSQL(e.Code)
	}
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return transientMySQL(e.Number)
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	broken := []error{
		driver.ErrBadConn, mysql.ErrInvalidConn, sql.ErrConnDone, io.EOF, io.ErrUnexpectedEOF,
		net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE,
	}
	return pgconn.SafeToRetry(err) || slices.ContainsFunc(broken, func(b error) bool { return errors.Is(err, b) })
}

func transientPostgreSQL(code string) bool {
	switch code {
	case "40001", "40P01", // Serialization failure, deadlock.
		"55P03",                   // Lock not available within its timeout.
		"25006",                   // Read only: no longer the primary.
		"53300",                   // Too many connections.
		"57P01", "57P02", "57P03": // Stopping, crashed, starting.
		return true
	}
	return strings.HasPrefix(code, "08") // Connection exceptions.
}

func transientMySQL(number uint16) bool {
	switch number {
	case 1205, 1213, // Lock timeout, deadlock.
		1040,       // Too many connections.
		1053,       // Stopping.
		1290, 1836, // Read only: no longer the primary.
		1158, 1159, 1160, 1161, // The network, as the server saw it.
		1927: // Connection killed.
		return true
	}
	return false
}
