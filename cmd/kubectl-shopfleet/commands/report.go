package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/report"
)

// reportExtension is the extension of the archive.
const reportExtension = ".tar.gz"

// supportReport is the command that writes an archive for a support request.
type supportReport struct {
	*Program
	output *output
	file   string
}

func (p *Program) reportCommand() *cobra.Command {
	c := &supportReport{Program: p}
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Write an archive for a support request, without secrets",
		Long: `Write an archive for a support request, without secrets.

It has the objects of Shopfleet on the hub, the events of their namespaces, the Deployment,
pods, logs and metrics of the hub, all versions, and the output of kubectl shopfleet doctor.

Secrets are listed with their names and keys only, and those with kubeconfigs are not read.
Values of environment variables and of annotations with documents are replaced, and so is
what looks like a credential, in objects, events and logs. A password that stands alone in a
line cannot be recognized: look at the archive before you publish it.

What you may not read, or what does not answer, is in the index of the archive with the
reason, and does not fail the command.`,
		Example: `  kubectl shopfleet report
  kubectl shopfleet report -f case-4711.tar.gz
  kubectl shopfleet report -f - | tar tz`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	c.output = newReportOutput(cmd)
	cmd.Flags().StringVarP(&c.file, "file", "f", "", "`FILE` to write, which must not exist; - is the standard output; default: shopfleet-report-TIME.tar.gz")
	return cmd
}

func (s *supportReport) run(ctx context.Context) error {
	if err := s.output.check(); err != nil {
		return err
	}
	if s.file == "-" && s.output.format() != "" {
		return usagef("--output cannot be used with --file -, which writes the archive to the standard output")
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
	path := cmp.Or(s.file, name+reportExtension)
	index, err := s.create(path, func(to io.Writer) (report.Index, error) {
		folder := strings.TrimSuffix(filepath.Base(path), reportExtension)
		return s.write(ctx, hub, report.NewArchive(to, folder, now))
	})
	if err != nil {
		return err
	}
	if !s.output.text() {
		return s.output.printReport(s.Program, "Report", &index)
	}
	if _, err := fmt.Fprintln(s.streams.Out, summary(path, index)); err != nil {
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
func (s *supportReport) create(path string, write func(io.Writer) (report.Index, error)) (report.Index, error) {
	file, err := os.OpenFile(filepath.Clean(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return report.Index{}, hint.With(fmt.Errorf("creating the archive: %w", err), "Choose another file with --file.")
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
func (s *supportReport) write(ctx context.Context, hub *cluster, archive *report.Archive) (report.Index, error) {
	collected := &collection{Program: s.Program, hub: hub, archive: archive}
	if err := s.during("collecting from the hub at "+hub.config.Host, func() error { return collected.all(ctx) }); err != nil {
		return report.Index{}, err
	}
	return archive.Close()
}
