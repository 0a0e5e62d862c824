package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/shopfleet/shopfleet/e2e/shop"
	"github.com/shopfleet/shopfleet/e2e/shop/database"
	"github.com/shopfleet/shopfleet/e2e/shop/httpapi"
	"github.com/shopfleet/shopfleet/e2e/shop/migrate"
	"github.com/shopfleet/shopfleet/e2e/shop/serve"
	"github.com/shopfleet/shopfleet/e2e/shop/store"
)

const (
	// defaultStart ends before the operator's startup probe gives up.
	defaultStart   = 270 * time.Second
	requestTimeout = 5 * time.Second
)

// version is written by the linker.
var version = "dev"

func main() {
	start := flag.Duration("start-timeout", defaultStart, "how long to wait for the database at start")
	drain := flag.Duration("drain", serve.DefaultDrain, "how long to go on serving after the signal to stop")
	flag.Parse()
	log := slog.New(slog.NewJSONHandler(os.Stdout, nil))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // A second signal ends the process at once.
	os.Exit(serve.Exit(ctx, log, run(ctx, log, *start, *drain)))
}

func run(ctx context.Context, log *slog.Logger, start, drain time.Duration) error {
	config, err := database.FromEnv(os.Getenv)
	if err != nil {
		return fmt.Errorf("reading the environment: %w", err)
	}
	db, err := database.Open(config)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	log.InfoContext(ctx, "starting", "version", version, "database", config.String())
	release := shop.NewRelease(version)
	// The port opens when orders can be taken: an open port is all that the
	// operator's probes ask for.
	starting, cancel := context.WithTimeout(ctx, start)
	defer cancel()
	if err := migrate.Await(starting, db, store.Schema(config.Engine, release), log); err != nil {
		if ctx.Err() != nil {
			return nil // Told to stop before there was anything to stop.
		}
		return err
	}
	listener, err := serve.Listen(ctx, os.Getenv)
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewDBStatsCollector(db.DB, "shop"))
	orders := store.New(db, release, time.Now)
	return serve.New(serve.Options{
		Version: version, Handler: httpapi.New(orders, log, registry), Ready: orders.Ready,
		Log: log, Registry: registry, Timeout: requestTimeout, Drain: drain, Grace: serve.DefaultGrace,
	}).Run(ctx, listener)
}
