package logs

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

const (
	// maxLines is how many lines are returned at most.
	maxLines = 15
	// maxLength is how many bytes of a warning are returned at most.
	maxLength = 400
	// tailBytes and warningBytes are how much of a log's end is looked at.
	tailBytes    = 16 << 10
	warningBytes = 1 << 20
)

// Tail returns the last lines of the log, at most 15.
func Tail(file string) (string, error) {
	lines, err := end(file, tailBytes)
	if err != nil {
		return "", err
	}
	return strings.Join(last(lines), "\n"), nil
}

// Warnings returns the last lines of the log that are warnings or errors, at most
// 15 and each cut to 400 bytes. It understands what the components of Kubernetes,
// etcd and KWOK write, and what ends a Go program, and leaves out what an API server
// says at every start.
func Warnings(file string) ([]string, error) {
	lines, err := end(file, warningBytes)
	if err != nil {
		return nil, err
	}
	warns := regexp.MustCompile(`^[WEF][0-9]{4} |"level":"(?i:warn|error|dpanic|panic|fatal)"|^(panic|fatal error|[Ee]rror): `)
	// Every healthy start has dozens of these.
	routine := regexp.MustCompile(`\] (Skipping API |\[core\] )`)
	var found []string
	for _, line := range lines {
		if warns.MatchString(line) && !routine.MatchString(line) {
			found = append(found, line[:min(len(line), maxLength)])
		}
	}
	return last(found), nil
}

// end returns the lines at the end of the file. The first may be cut off.
func end(file string, size int64) ([]string, error) {
	source, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	defer func() { _ = source.Close() }()
	info, err := source.Stat()
	if err != nil {
		return nil, fmt.Errorf("sizing the log: %w", err)
	}
	from := max(0, info.Size()-size)
	raw, err := io.ReadAll(io.NewSectionReader(source, from, info.Size()-from))
	if err != nil {
		return nil, fmt.Errorf("reading the log: %w", err)
	}
	return strings.Split(string(bytes.TrimSpace(raw)), "\n"), nil
}

func last(lines []string) []string { return lines[max(0, len(lines)-maxLines):] }
