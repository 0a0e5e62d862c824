package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/shopfleet/shopfleet/e2e/shop"
	"github.com/shopfleet/shopfleet/e2e/shop/database"
	"github.com/shopfleet/shopfleet/e2e/shop/migrate"
)

// Store keeps products and orders in a database whose schema is migrated. Every
// method tries again while the database is away and the context lasts, then
// fails with shop.ErrUnavailable.
type Store struct {
	db    *database.DB
	plan  []migrate.Migration
	notes bool
	now   func() time.Time
}

// New returns the store of a release; now is the time of orders.
func New(db *database.DB, release shop.Release, now func() time.Time) *Store {
	return &Store{db: db, plan: Schema(db.Engine(), release), notes: release.GiftNotes, now: now}
}

// Ready fails unless the database responds and has the schema of the release.
func (s *Store) Ready(ctx context.Context) error {
	pending, err := migrate.Pending(ctx, s.db, s.plan)
	if err != nil {
		return unavailable(err)
	}
	if pending > 0 {
		return fmt.Errorf("%w: %d migrations pending", shop.ErrUnavailable, pending)
	}
	return nil
}

// Products returns all products, cheapest first.
func (s *Store) Products(ctx context.Context) ([]shop.Product, error) {
	var products []shop.Product
	err := s.retry(ctx, func(ctx context.Context) error {
		products = nil
		rows, err := s.db.QueryContext(ctx, "SELECT id, name, description, price_cents FROM products ORDER BY price_cents, id")
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var p shop.Product
			if err := rows.Scan(&p.ID, &p.Name, &p.Description, &p.PriceCents); err != nil {
				return err
			}
			products = append(products, p)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("reading products: %w", err)
	}
	return products, nil
}

func (s *Store) retry(ctx context.Context, op func(context.Context) error) error {
	return unavailable(s.db.Retry(ctx, op))
}

// unavailable marks an error that passes by itself.
func unavailable(err error) error {
	if err == nil {
		return nil
	}
	if database.Transient(err) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w: %w", shop.ErrUnavailable, err)
	}
	return err
}

// newID returns 32 hexadecimal digits that sort by the millisecond of their
// making, so that the newest orders are at one end of their index.
func newID(at time.Time) string {
	var id [16]byte
	ms := at.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	_, _ = rand.Read(id[6:]) // Never fails.
	return hex.EncodeToString(id[:])
}
