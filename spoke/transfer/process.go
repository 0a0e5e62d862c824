package transfer

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

// maxOrder bounds an Order, in bytes: a Secret is smaller.
const maxOrder = 4 << 20

// Process is a process that carries out one Order.
type Process struct {
	// Order is the file that the Order is in.
	Order string
	// Dir is the folder that the order's file is in, or is brought to.
	Dir string
	// TerminationLog is where Kubernetes reads why a container ended; empty: nowhere.
	TerminationLog string
	// Out is where progress is told.
	Out io.Writer
}

// Main carries out an Order as a process. The error is one of Run's, and Status the exit
// status for it; it is in TerminationLog, too.
func Main(ctx context.Context, p Process) error {
	err := p.run(ctx)
	if err == nil || p.TerminationLog == "" {
		return err
	}
	// There is none outside a container, and nobody who misses it.
	if file, missing := os.OpenFile(p.TerminationLog, os.O_WRONLY|os.O_TRUNC, 0); missing == nil {
		_, _ = fmt.Fprintln(file, err)
		_ = file.Close()
	}
	return err
}

func (p Process) run(ctx context.Context) error {
	file, err := os.Open(p.Order)
	if err != nil {
		return retry("opening the order: %w", err)
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxOrder))
	if err != nil {
		return retry("reading the order: %w", err)
	}
	o, err := order.Read(text)
	if err != nil {
		return failure(order.ExitFinal, "the order: %w", err)
	}
	return Run(ctx, Options{Order: o, Dir: p.Dir, Out: p.Out})
}
