package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth/oidc" // For kubeconfigs with auth-provider: oidc.

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/commands"
)

// The linker sets them: see the Makefile, and e2e/release for the registry that has the images of a release.
var (
	version  = "v0.0.0-dev"
	registry string
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	program := commands.New(commands.Invocation{
		Args:     os.Args,
		Registry: registry,
		Version:  version,
		Streams:  genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
		// As kubectl, the plugin asks no questions in scripts.
		Terminal: term.IsTerminal(int(os.Stdin.Fd())),
	})
	code := program.Run(ctx)
	stop()
	os.Exit(code)
}
