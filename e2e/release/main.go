package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

const usage = `usage:
  release build --version v0.1.0 --registry registry.example.com/shopfleet [--platforms linux/amd64,...] [--key FILE] --output DIR
  release push --from DIR --to registry.example.com/shopfleet [--key FILE]
  release serve [--address 127.0.0.1:0]`

func run(ctx context.Context, args []string) error {
	commands := map[string]func(context.Context, []string) error{"build": build, "push": push, "serve": serve}
	if len(args) == 0 || commands[args[0]] == nil {
		return fmt.Errorf("%s", usage)
	}
	return commands[args[0]](ctx, args[1:])
}
