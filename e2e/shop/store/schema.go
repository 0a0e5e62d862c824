package store

import (
	"fmt"

	"github.com/shopfleet/shopfleet/e2e/shop"
	"github.com/shopfleet/shopfleet/e2e/shop/database"
	"github.com/shopfleet/shopfleet/e2e/shop/migrate"
)

// Schema returns the migrations that a release needs. Each release can work with
// the schema of all later ones.
func Schema(engine database.Engine, release shop.Release) []migrate.Migration {
	plan := []migrate.Migration{
		{Version: 1, Name: "tables", Steps: tables(engine)},
		{Version: 2, Name: "assortment", Steps: []migrate.Step{{Do: assortment, Unless: "SELECT COUNT(*) FROM products"}}},
	}
	if release.GiftNotes {
		plan = append(plan, giftNotes(engine))
	}
	return plan
}

func tables(engine database.Engine) []migrate.Step {
	// Keys are compared byte by byte, and names may be in any script.
	moment, options := "TIMESTAMP(3) WITH TIME ZONE", ""
	if engine == database.MySQL {
		moment, options = "DATETIME(3)", " ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
	}
	return []migrate.Step{
		{Do: `CREATE TABLE IF NOT EXISTS products (
	id VARCHAR(40) NOT NULL PRIMARY KEY,
	name VARCHAR(80) NOT NULL,
	description VARCHAR(200) NOT NULL,
	price_cents BIGINT NOT NULL CHECK (price_cents > 0)
)` + options},
		{Do: fmt.Sprintf(`CREATE TABLE IF NOT EXISTS orders (
	id CHAR(32) NOT NULL PRIMARY KEY,
	idempotency_key VARCHAR(64) NOT NULL UNIQUE,
	fingerprint CHAR(64) NOT NULL,
	customer VARCHAR(%d) NOT NULL,
	total_cents BIGINT NOT NULL,
	placed_at %s NOT NULL
)%s`, shop.MaxCustomer, moment, options)},
		{Do: `CREATE TABLE IF NOT EXISTS order_lines (
	order_id CHAR(32) NOT NULL,
	product_id VARCHAR(40) NOT NULL,
	quantity INT NOT NULL CHECK (quantity > 0),
	price_cents BIGINT NOT NULL,
	PRIMARY KEY (order_id, product_id),
	FOREIGN KEY (order_id) REFERENCES orders (id),
	FOREIGN KEY (product_id) REFERENCES products (id)
)` + options},
	}
}

const assortment = `INSERT INTO products (id, name, description, price_cents) VALUES
	('beans-ethiopia', 'Yirgacheffe, 250 g', 'Washed Ethiopian coffee: bergamot, jasmine and honey.', 1290),
	('beans-colombia', 'Huila, 250 g', 'Colombian coffee from small farms: cocoa, cherry, caramel.', 1150),
	('dripper', 'Ceramic dripper', 'Fired in white stoneware, for one or two cups.', 2400),
	('filters', 'Paper filters, 100', 'Unbleached, for every dripper of size 02.', 650),
	('grinder', 'Hand grinder', 'Steel burrs and forty settings, from espresso to French press.', 8900),
	('kettle', 'Gooseneck kettle', 'Pours slowly, holds its temperature for an hour.', 11900)`

func giftNotes(engine database.Engine) migrate.Migration {
	schema := "current_schema()"
	if engine == database.MySQL {
		schema = "DATABASE()"
	}
	return migrate.Migration{Version: 3, Name: "gift notes", Steps: []migrate.Step{{
		// Releases that do not know the column insert its default.
		Do: fmt.Sprintf("ALTER TABLE orders ADD COLUMN note VARCHAR(%d) NOT NULL DEFAULT ''", shop.MaxNote),
		Unless: "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = " + schema +
			" AND table_name = 'orders' AND column_name = 'note'",
	}}}
}
