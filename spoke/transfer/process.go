package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

// maxOrder bounds the size of an Order, in bytes; a Secret is smaller.
const maxOrder = 4 << 20

// Process configures Main.
type Process struct {
	// Order is the path of the Order.
	Order string
	// Dir is the directory of the file to transfer.
	Dir string
	// TerminationLog is the path of the container's termination log; may be empty.
	TerminationLog string
	// Out receives progress messages.
	Out io.Writer
}

// Main executes an Order as a process, and writes any error to TerminationLog, or the checksums
// that the error carries. The error is one of Run's; Status returns its exit status.
func Main(ctx context.Context, p Process) error {
	err := p.run(ctx)
	if err == nil || p.TerminationLog == "" {
		return err
	}
	// Outside a container there is no termination log.
	if file, missing := os.OpenFile(p.TerminationLog, os.O_WRONLY|os.O_TRUNC, 0); missing == nil {
		said := err.Error()
		if e, ok := errors.AsType[*Error](err); ok && e.Status == order.ExitChecksums {
			said = e.Checksums.String()
		}
		_, _ = fmt.Fprintln(file, said)
		_ = file.Close()
	}
	return err
}

func (p Process) run(ctx context.Context) error {
	o, err := p.read()
	if err != nil {
		return err
	}
	return Run(ctx, Options{Order: o, Reread: p.read, Dir: p.Dir, Out: p.Out})
}

// read reads the Order. The kubelet replaces the file when the Secret changes.
func (p Process) read() (order.Order, error) {
	file, err := os.Open(p.Order)
	if err != nil {
		return order.Order{}, retry("opening the order: %w", err)
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxOrder))
	if err != nil {
		return order.Order{}, retry("reading the order: %w", err)
	}
	o, err := order.Read(text)
	if err != nil {
		return order.Order{}, failure(order.ExitFinal, "the order: %w", err)
	}
	return o, nil
}
