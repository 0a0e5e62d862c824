package podexec

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/client-go/tools/remotecommand"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
)

// outputBytes bounds what is kept of a command's output, saidBytes what of its standard error.
const (
	outputBytes = 4 << 10
	saidBytes   = 512
)

// Command is a command with its standard input.
type Command struct {
	Args  []string
	Input string
}

// Run runs a command until it ends or ctx is done, and returns the beginning of its standard
// output, at most 4 KiB. The error has the beginning of what the command wrote to its standard error,
// and wraps the error of the API server or of ctx.
func Run(ctx context.Context, in cluster.Cluster, target Container, command Command) (string, error) {
	e, err := newExecutor(in, target, command.Args)
	if err != nil {
		return "", err
	}
	output, said := &excerpt{limit: outputBytes}, &excerpt{limit: saidBytes}
	ended := make(chan error, 1)
	// With SPDY, client-go waits for the response to its request without a look at ctx.
	go func() {
		ended <- e.stream(ctx, remotecommand.StreamOptions{Stdin: strings.NewReader(command.Input), Stdout: output, Stderr: said})
	}()
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = fmt.Errorf("waiting for the command: %w", ctx.Err())
	}
	if err == nil {
		return output.String(), nil
	}
	if text := oneLine(said.String(), saidBytes); text != "" {
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
