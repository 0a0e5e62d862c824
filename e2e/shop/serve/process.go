package serve

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
)

const defaultPort = "8080"

// Listen opens the port in the environment variable PORT, on every address.
func Listen(ctx context.Context, getenv func(string) string) (net.Listener, error) {
	text := cmp.Or(getenv("PORT"), defaultPort)
	if port, err := strconv.Atoi(text); err != nil || port < 0 || port > 65535 {
		return nil, fmt.Errorf("PORT is not a port: %q", text)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", ":"+text)
	if err != nil {
		return nil, fmt.Errorf("listening on port %s: %w", text, err)
	}
	return listener, nil
}

// Exit logs how a process ended and returns its exit code.
func Exit(ctx context.Context, log *slog.Logger, err error) int {
	if err == nil {
		return 0
	}
	log.ErrorContext(ctx, "stopped by an error", "error", err.Error())
	return 1
}
