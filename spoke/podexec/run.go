package podexec

import (
	"context"
	"fmt"
	"io"
	"strings"

	"k8s.io/client-go/tools/remotecommand"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
)

// Command is a command with its standard input.
type Command struct {
	Args  []string
	Input string
}

// Run runs a command until it ends or ctx is done. The error has the beginning of what the
// command wrote to its standard error, and wraps that of the API server or of ctx.
func Run(ctx context.Context, in cluster.Cluster, target Container, command Command) error {
	e, err := New(in, target, command.Args)
	if err != nil {
		return err
	}
	said := &Excerpt{}
	err = e.Stream(ctx, remotecommand.StreamOptions{Stdin: strings.NewReader(command.Input), Stdout: io.Discard, Stderr: said})
	if err == nil {
		return nil
	}
	if text := said.String(); text != "" {
		return fmt.Errorf("%w: %s", err, text)
	}
	return err
}
