package main

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/shopfleet/shopfleet/e2e/shop"
	"github.com/shopfleet/shopfleet/e2e/shop/serve"
	"github.com/shopfleet/shopfleet/e2e/shop/web"
)

// requestTimeout leaves room for two tries at the backend, and for the page.
const requestTimeout = 2*web.DefaultTry + 3*time.Second

// version is written by the linker.
var version = "dev"

func main() {
	drain := flag.Duration("drain", serve.DefaultDrain, "how long to go on serving after the signal to stop")
	flag.Parse()
	log := slog.New(slog.NewJSONHandler(os.Stdout, nil))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // A second signal ends the process at once.
	os.Exit(serve.Exit(ctx, log, run(ctx, log, *drain)))
}

func run(ctx context.Context, log *slog.Logger, drain time.Duration) error {
	registry := prometheus.NewRegistry()
	backend, err := web.NewBackend(os.Getenv("BACKEND_URL"), web.DefaultTry, registry)
	if err != nil {
		return err
	}
	pages, err := web.New(web.Options{
		Backend: backend, Release: shop.NewRelease(version), Region: os.Getenv("SHOP_REGION"), Log: log,
	})
	if err != nil {
		return err
	}
	listener, err := serve.Listen(ctx, os.Getenv)
	if err != nil {
		return err
	}
	return serve.New(serve.Options{
		Version: version, Handler: pages, Ready: backend.Ready,
		Log: log, Registry: registry, Timeout: requestTimeout, Drain: drain, Grace: serve.DefaultGrace,
	}).Run(ctx, listener)
}
