package podexec

import (
	"context"
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
		err = &FailedError{Stderr: text, Err: err}
	}
	return "", err
}

// FailedError is returned if a command failed and wrote to its standard error. It wraps the error of
// the API server or of the context.
type FailedError struct {
	// Stderr is the beginning of what the command wrote, as one line. It may contain secrets that the
	// command was given.
	Stderr string
	Err    error
}

// Error implements error.
func (e *FailedError) Error() string { return e.Err.Error() + ": " + e.Stderr }

// Unwrap returns the cause.
func (e *FailedError) Unwrap() error { return e.Err }

// limited keeps the first outputBytes of a stream.
type limited struct{ strings.Builder }

// Write takes all, and keeps a part of it.
func (l *limited) Write(p []byte) (int, error) {
	_, _ = l.Builder.Write(p[:min(len(p), outputBytes-l.Len())]) // Always nil.
	return len(p), nil
}
