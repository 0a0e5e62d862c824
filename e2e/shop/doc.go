// Package shop is a small real storefront, for tests of what runs storefronts:
// its products and orders are in PostgreSQL or MySQL, its pages take orders that
// must not be lost, and it comes in two releases to update between.
//
// # Purpose
//
// This package holds the types that all others share. Below it database, migrate and store
// keep orders, api serves them as JSON (cmd/backend), web as pages (cmd/frontend), and serve
// is what both processes have in common.
//
// The environment is the operator's:
//
//	PORT                             where to listen, 8080 if unset
//	BACKEND_URL                      frontend: the API; without it there is nothing to buy
//	DB_ENGINE                        backend: postgresql or mysql
//	DB_HOST, DB_PORT                 backend: the primary
//	DB_NAME, DB_USER, DB_PASSWORD    backend
//	SHOP_REGION                      frontend: shown below every page, if set
//
// Both answer /healthz (the process runs), /readyz (its requests would succeed)
// and /metrics. The backend opens its port once its schema is migrated, for which
// it waits four and a half minutes, so that an open port means ready. After
// SIGTERM /readyz fails, three seconds later no connection is accepted any more,
// and requests under way have twenty seconds to finish.
//
// Pages: GET /, GET /order, POST /orders (fields customer, key, quantity-<product>
// and from v2.1.0 note), GET /orders, GET /orders/{id}. API: GET /api/products,
// POST /api/orders with the header Idempotency-Key, GET /api/orders,
// GET /api/orders/{id}. The key is 8 to 64 letters, digits, dashes or underscores;
// all requests with the same key are one order.
//
// Images are made without a registry, here for the backend:
//
//	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=v2.0.0" -o build/backend ./cmd/backend
//	DOCKER_BUILDKIT=0 docker build --build-arg BINARY=backend --build-arg VERSION=v2.0.0 \
//		--tag ecommerce-backend:v2.0.0 --file Dockerfile build
//
// Release v2.1.0 shows a banner, takes a gift note with each order, and adds a
// column to the schema that v2.0.0 can live with. Any other version is the newest.
//
// # Non-goals
//
// The shop has no payment, no stock and no accounts. Every client that reaches it can read the
// names on its orders.
//
// # Trade-offs
//
// A module of its own keeps drivers of databases out of the product's go.mod. Orders have
// ids that their time begins, made by the backend, so that neither engine needs a statement
// of its own; the clocks of replicas decide the order of a list. The same key with another
// order is refused, but a note does not count as another order: one try may reach a release
// that drops it.
package shop
