package main

import (
	"fmt"
	"io"
	"os"

	"github.com/shopfleet/shopfleet/cloud/cloudtest/matrix"
)

func main() {
	os.Exit(run(os.Stdin, os.Stdout, os.Stderr))
}

func run(in io.Reader, out, problems io.Writer) int {
	report, err := matrix.Read(in)
	if err != nil {
		_, _ = fmt.Fprintln(problems, err)
		return 1
	}
	if _, err := io.WriteString(out, report.Markdown()); err != nil {
		_, _ = fmt.Fprintln(problems, err)
		return 1
	}
	status := 0
	for _, problem := range report.Problems() {
		_, _ = fmt.Fprintln(problems, problem)
		status = 1
	}
	return status
}
