package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/commands"
)

// version is set by the linker; see the Makefile.
var version = "v0.0.0-dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	program := commands.New(commands.Invocation{
		Args:    os.Args,
		Version: version,
		Streams: genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
	})
	code := program.Run(ctx)
	stop()
	os.Exit(code)
}
