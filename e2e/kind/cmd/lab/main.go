package main

import (
	"fmt"
	"os"

	"github.com/shopfleet/shopfleet/e2e/kind/lab"
)

func main() {
	if len(os.Args) != 2 || os.Args[1] != "down" {
		fmt.Fprintln(os.Stderr, "usage: lab down")
		os.Exit(2)
	}
	root, err := os.Getwd()
	if err == nil {
		err = lab.Down(lab.ForTests(root, os.Stderr))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
