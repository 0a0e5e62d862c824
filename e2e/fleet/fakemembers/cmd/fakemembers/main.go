package main

import (
	"context"
	"fmt"
	"os"

	"github.com/shopfleet/shopfleet/e2e/fleet/fakemembers"
)

func main() {
	if err := fakemembers.Serve(context.Background(), os.Args[1:], os.Stdin, os.Stdout); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
