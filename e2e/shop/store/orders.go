package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/shopfleet/shopfleet/e2e/shop"
	"github.com/shopfleet/shopfleet/e2e/shop/database"
)

// PlaceOrder turns a checked draft into an order, once for each key: a second
// call returns the order of the first and false. It fails with
// shop.ErrKeyReused when the drafts differ, and with *shop.InvalidError for a
// product that does not exist.
func (s *Store) PlaceOrder(ctx context.Context, key string, d shop.Draft) (shop.Order, bool, error) {
	var order shop.Order
	created := false
	err := s.retry(ctx, func(ctx context.Context) error {
		var err error
		if order, err = s.placed(ctx, key, d); !errors.Is(err, shop.ErrNotFound) {
			return err
		}
		order, err = s.insert(ctx, key, d)
		if database.Duplicate(err) { // Another replica was faster.
			order, err = s.placed(ctx, key, d)
			return err
		}
		created = err == nil
		return err
	})
	if err != nil {
		return shop.Order{}, false, fmt.Errorf("placing an order: %w", err)
	}
	return order, created, nil
}

// placed returns the order of a key.
func (s *Store) placed(ctx context.Context, key string, d shop.Draft) (shop.Order, error) {
	var id, fingerprint string
	row := s.db.QueryRowContext(ctx, s.db.Bind("SELECT id, fingerprint FROM orders WHERE idempotency_key = ?"), key)
	err := row.Scan(&id, &fingerprint)
	if errors.Is(err, sql.ErrNoRows) {
		return shop.Order{}, shop.ErrNotFound
	}
	if err != nil {
		return shop.Order{}, err
	}
	if fingerprint != d.Fingerprint() {
		return shop.Order{}, shop.ErrKeyReused
	}
	return s.order(ctx, id)
}

func (s *Store) insert(ctx context.Context, key string, d shop.Draft) (shop.Order, error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return shop.Order{}, err
	}
	defer func() { _ = tx.Rollback() }()
	order, err := s.price(ctx, tx, d)
	if err != nil {
		return shop.Order{}, err
	}
	columns := []string{"id", "idempotency_key", "fingerprint", "customer", "total_cents", "placed_at"}
	values := []any{order.ID, key, d.Fingerprint(), order.Customer, order.TotalCents, order.PlacedAt}
	if s.notes {
		columns, values = append(columns, "note"), append(values, order.Note)
	}
	if err := s.insertRow(ctx, tx, "orders", columns, values); err != nil {
		return shop.Order{}, err
	}
	for _, line := range order.Lines {
		err := s.insertRow(ctx, tx, "order_lines", []string{"order_id", "product_id", "quantity", "price_cents"},
			[]any{order.ID, line.ProductID, line.Quantity, line.PriceCents})
		if err != nil {
			return shop.Order{}, err
		}
	}
	if err := tx.Commit(); err != nil {
		return shop.Order{}, err
	}
	return order, nil
}

// price returns the order that a draft makes at the prices of this moment.
func (s *Store) price(ctx context.Context, tx *sql.Tx, d shop.Draft) (shop.Order, error) {
	now := s.now().UTC().Truncate(time.Millisecond)
	order := shop.Order{ID: newID(now), Customer: d.Customer, PlacedAt: now}
	if s.notes {
		order.Note = d.Note
	}
	for _, item := range d.Items {
		line := shop.Line{ProductID: item.ProductID, Quantity: item.Quantity}
		row := tx.QueryRowContext(ctx, s.db.Bind("SELECT name, price_cents FROM products WHERE id = ?"), item.ProductID)
		err := row.Scan(&line.Name, &line.PriceCents)
		if errors.Is(err, sql.ErrNoRows) {
			return shop.Order{}, shop.UnknownProduct(item.ProductID)
		}
		if err != nil {
			return shop.Order{}, err
		}
		order.TotalCents += line.PriceCents * int64(line.Quantity)
		order.Lines = append(order.Lines, line)
	}
	return order, nil
}

func (s *Store) insertRow(ctx context.Context, tx *sql.Tx, table string, columns []string, values []any) error {
	query := fmt.Sprintf("INSERT INTO %s (%s) VALUES (?%s)",
		table, strings.Join(columns, ", "), strings.Repeat(", ?", len(columns)-1))
	_, err := tx.ExecContext(ctx, s.db.Bind(query), values...)
	return err
}

// Order returns one order, or shop.ErrNotFound.
func (s *Store) Order(ctx context.Context, id string) (shop.Order, error) {
	var order shop.Order
	err := s.retry(ctx, func(ctx context.Context) error {
		var err error
		order, err = s.order(ctx, id)
		return err
	})
	if err != nil {
		return shop.Order{}, fmt.Errorf("reading order %q: %w", id, err)
	}
	return order, nil
}

// Orders returns a page of orders, newest first.
func (s *Store) Orders(ctx context.Context, page shop.Page) ([]shop.Order, error) {
	where, args := "", []any{}
	if page.Before != "" {
		where, args = "WHERE id < ? ", append(args, page.Before)
	}
	var orders []shop.Order
	err := s.retry(ctx, func(ctx context.Context) error {
		var err error
		orders, err = s.query(ctx, where+"ORDER BY id DESC LIMIT ?", append(args, page.Limit)...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading orders: %w", err)
	}
	return orders, nil
}

func (s *Store) order(ctx context.Context, id string) (shop.Order, error) {
	orders, err := s.query(ctx, "WHERE id = ?", id)
	if err != nil {
		return shop.Order{}, err
	}
	if len(orders) == 0 {
		return shop.Order{}, shop.ErrNotFound
	}
	return orders[0], nil
}

// query returns the orders that a condition selects, with their lines.
func (s *Store) query(ctx context.Context, condition string, args ...any) ([]shop.Order, error) {
	note := "''"
	if s.notes {
		note = "note"
	}
	rows, err := s.db.QueryContext(ctx, s.db.Bind(`SELECT o.id, o.customer, o.total_cents, o.placed_at, o.note,
	l.product_id, p.name, l.quantity, l.price_cents
FROM (SELECT id, customer, total_cents, placed_at, `+note+` AS note FROM orders `+condition+`) o
JOIN order_lines l ON l.order_id = o.id
JOIN products p ON p.id = l.product_id
ORDER BY o.id DESC, l.product_id`), args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var orders []shop.Order
	for rows.Next() {
		var o shop.Order
		var l shop.Line
		err := rows.Scan(&o.ID, &o.Customer, &o.TotalCents, &o.PlacedAt, &o.Note,
			&l.ProductID, &l.Name, &l.Quantity, &l.PriceCents)
		if err != nil {
			return nil, err
		}
		if n := len(orders); n == 0 || orders[n-1].ID != o.ID {
			o.PlacedAt = o.PlacedAt.UTC()
			orders = append(orders, o)
		}
		last := &orders[len(orders)-1]
		last.Lines = append(last.Lines, l)
	}
	return orders, rows.Err()
}
