package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/report"
)

// archiveExtension is the extension of the archive.
const archiveExtension = ".tar.gz"

// supportArchive is the flag --archive of doctor, which writes an archive for a support request.
type supportArchive struct {
	*Program
	output *output
	file   string
}

func (s *supportArchive) run(ctx context.Context) error {
	if s.file == "-" && s.output.format() != "" {
		return usagef("--output cannot be used with --archive -, which writes the archive to the standard output")
	}
	hub, err := s.hub()
	if err != nil {
		return err
	}
	now := s.clock.Now()
	name := "shopfleet-report-" + now.UTC().Format("20060102-150405")
	if s.file == "-" {
		index, err := s.write(ctx, hub, report.NewArchive(s.streams.Out, name, now))
		if err == nil {
			s.say("%s", summary("the archive", index))
		}
		return err
	}
	index, err := s.create(s.file, func(to io.Writer) (report.Index, error) {
		folder := strings.TrimSuffix(filepath.Base(s.file), archiveExtension)
		return s.write(ctx, hub, report.NewArchive(to, folder, now))
	})
	if err != nil {
		return err
	}
	if !s.output.text() {
		return s.output.printReport(s.Program, "Report", &index)
	}
	if _, err := fmt.Fprintln(s.streams.Out, summary(s.file, index)); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

// summary describes an archive in a line.
func summary(name string, index report.Index) string {
	text := fmt.Sprintf("wrote %s with %d files", name, len(index.Files))
	if len(index.Omitted) > 0 {
		text += fmt.Sprintf("; %d things could not be read, see its index.yaml", len(index.Omitted))
	}
	return text
}

// create writes a new file, and removes it if that fails.
func (s *supportArchive) create(path string, write func(io.Writer) (report.Index, error)) (report.Index, error) {
	file, err := os.OpenFile(filepath.Clean(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return report.Index{}, hint.With(fmt.Errorf("creating the archive: %w", err), "Choose another file with --archive.")
	}
	if err != nil {
		return report.Index{}, fmt.Errorf("creating the archive: %w", err)
	}
	index, err := write(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return index, errors.Join(err, os.Remove(path))
	}
	return index, nil
}

// write collects everything, and closes the archive.
func (s *supportArchive) write(ctx context.Context, hub *cluster, archive *report.Archive) (report.Index, error) {
	collected := &collection{Program: s.Program, hub: hub, archive: archive}
	if err := s.during("collecting from the hub at "+hub.config.Host, func() error { return collected.all(ctx) }); err != nil {
		return report.Index{}, err
	}
	return archive.Close()
}
