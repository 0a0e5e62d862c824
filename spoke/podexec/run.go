package podexec

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/client-go/tools/remotecommand"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
)

// outputBytes bounds the output of a command.
const outputBytes = 4 << 10

// Command is a command with its standard input.
type Command struct {
	Args  []string
	Input string
}

// Run runs a command until it ends or ctx is done, and returns the beginning of its standard
// output, at most 4 KiB. The error has the beginning of what the command wrote to its standard error,
// and wraps that of the API server or of ctx.
func Run(ctx context.Context, in cluster.Cluster, target Container, command Command) (string, error) {
	e, err := New(in, target, command.Args)
	if err != nil {
		return "", err
	}
	output, said := &limited{}, &Excerpt{}
	err = e.Stream(ctx, remotecommand.StreamOptions{Stdin: strings.NewReader(command.Input), Stdout: output, Stderr: said})
	if err == nil {
		return output.String(), nil
	}
	if text := said.String(); text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	return "", err
}

// limited keeps the first outputBytes of a stream.
type limited struct{ strings.Builder }

// Write takes all, and keeps a part of it.
func (l *limited) Write(p []byte) (int, error) {
	_, _ = l.Builder.Write(p[:min(len(p), outputBytes-l.Len())]) // Always nil.
	return len(p), nil
}
