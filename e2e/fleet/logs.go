package fleet

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
)

const (
	tailLines = 15
	tailBytes = 16 << 10
)

// logTail returns the ends of the components' logs, to be appended to an error,
// with the names of the files.
func (c *Cluster) logTail(components ...Component) string {
	var text strings.Builder
	for _, component := range components {
		file := c.LogFile(component)
		tail, err := tailOf(file)
		if err != nil {
			tail = err.Error()
		}
		_, _ = fmt.Fprintf(&text, "\nend of %s:\n%s", file, tail)
	}
	return text.String()
}

func tailOf(file string) (string, error) {
	source, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("opening the log: %w", err)
	}
	defer func() { _ = source.Close() }()
	info, err := source.Stat()
	if err != nil {
		return "", fmt.Errorf("sizing the log: %w", err)
	}
	from := max(0, info.Size()-tailBytes)
	raw, err := io.ReadAll(io.NewSectionReader(source, from, info.Size()-from))
	if err != nil {
		return "", fmt.Errorf("reading the log: %w", err)
	}
	lines := bytes.Split(bytes.TrimSpace(raw), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-tailLines):], []byte("\n"))), nil
}
