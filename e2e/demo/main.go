package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/shopfleet/shopfleet/e2e/demo/background"
)

const (
	// defaultDir matches the default of the fleet command.
	defaultDir = ".fleet"
	// cleanupTimeout bounds the removal after an interruption.
	cleanupTimeout  = time.Minute
	exitFailed      = 1
	exitInterrupted = 130
)

// errNoImages means that the demo runs on kind, which has the images of one version.
var errNoImages = errors.New("the clusters on kind have no other image to roll out: use the demo without KIND=1")

// errNoCloud means that the demo runs on kind, whose volumes have no cloud.
var errNoCloud = errors.New("no cloud is played on kind: restore in the demo without KIND=1")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newCommand().ExecuteContext(ctx)
	interrupted := ctx.Err() != nil
	stop()
	switch {
	case err == nil:
	case interrupted:
		os.Exit(exitInterrupted)
	default:
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(exitFailed)
	}
}

func newCommand() *cobra.Command {
	command := &cobra.Command{
		Use: "demo", Short: "Show Shopfleet on this machine", SilenceUsage: true, SilenceErrors: true,
	}
	dir := command.PersistentFlags().String("dir", defaultDir, "folder with everything that the demo makes")
	kind := command.PersistentFlags().Bool("kind", false, "run on kind clusters, with real containers; needs docker")
	command.AddCommand(
		newUp(dir, kind),
		&cobra.Command{
			Use: "restore", Short: "Restore the shop of a demo that runs in another region", Args: cobra.NoArgs,
			RunE: func(command *cobra.Command, _ []string) error {
				if *kind {
					return errNoCloud
				}
				d, err := newDemo(*dir)
				if err != nil {
					return err
				}
				return d.restore(command.Context())
			},
		},
		&cobra.Command{
			Use: "down", Short: "End the demo and remove what it made", Args: cobra.NoArgs,
			RunE: func(command *cobra.Command, _ []string) error {
				d, err := newDemo(*dir)
				if err != nil {
					return err
				}
				if *kind {
					return newKindDemo(d).down(command.Context())
				}
				return d.down(command.Context())
			},
		},
		newRollout(dir, kind),
		newCloud(dir),
	)
	return command
}

// newUp returns the command that starts the demo.
func newUp(dir *string, kind *bool) *cobra.Command {
	var compiling int64
	command := &cobra.Command{
		Use: "up", Short: "Bring the demo up and leave it running", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			d, err := newDemo(*dir)
			if err != nil {
				return err
			}
			if compiling > 0 {
				d.compiledSince(time.Unix(compiling, 0))
			}
			if *kind {
				return newKindDemo(d).up(command.Context())
			}
			return d.up(command.Context())
		},
	}
	command.Flags().Int64Var(&compiling, "compiling-since", 0, "Unix time at which the compilation of this program began, which is part of the time that the demo takes")
	return command
}

// newRollout returns the command that rolls images out.
func newRollout(dir *string, kind *bool) *cobra.Command {
	return &cobra.Command{
		Use: "rollout", Short: "Roll a bad image out in a demo that runs, and then a good one", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if *kind {
				return errNoImages
			}
			d, err := newDemo(*dir)
			if err != nil {
				return err
			}
			return d.rollOut(command.Context())
		},
	}
}

// newCloud returns the hidden command that the demo starts in the background.
func newCloud(dir *string) *cobra.Command {
	var address string
	command := &cobra.Command{
		Use: "cloud", Short: "Simulate the cloud", Args: cobra.NoArgs, Hidden: true,
		RunE: func(command *cobra.Command, _ []string) error { return playProvider(command.Context(), *dir, address) },
	}
	command.Flags().StringVar(&address, "address", "", "address to listen on")
	return command
}

// demo is one run of the command.
type demo struct {
	// root is the repository, which is the working folder of all steps.
	root string
	// dir is the folder of everything that the demo makes.
	dir    string
	screen *steps
	begin  time.Time
}

func newDemo(dir string) (*demo, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("finding the working folder: %w", err)
	}
	if _, err := os.Stat(filepath.Join(root, sample)); err != nil {
		return nil, fmt.Errorf("finding %s: run the demo in the root of the repository: %w", sample, err)
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("resolving the folder: %w", err)
	}
	return &demo{root: root, dir: absolute, screen: &steps{out: os.Stdout, terminal: term.IsTerminal(int(os.Stdout.Fd()))}, begin: time.Now()}, nil
}

// compiledSince makes the compilation of this program the first step.
func (d *demo) compiledSince(begin time.Time) {
	d.screen.done("Compiling the demo", d.begin.Sub(begin))
	d.begin = begin
}

// path returns a path in the demo's folder.
func (d *demo) path(names ...string) string {
	return filepath.Join(append([]string{d.dir}, names...)...)
}

// down ends the hub and the cloud, then the fleet, and removes the rest.
func (d *demo) down(ctx context.Context) error {
	for _, p := range []background.Process{d.operator(), d.provider()} {
		if err := p.Stop(ctx); err != nil {
			return err
		}
	}
	fleet := d.command(ctx, d.path("bin", "fleet"), "--dir", d.dir, "down")
	if _, err := os.Stat(fleet.Path); err != nil {
		fleet = d.command(ctx, "go", "run", "./e2e/fleet/cmd/fleet", "--dir", d.dir, "down")
	}
	fleet.Stdout, fleet.Stderr = d.screen.out, os.Stderr
	if err := fleet.Run(); err != nil {
		return fmt.Errorf("ending the fleet: %w", err)
	}
	var failed []error
	for _, name := range []string{"bin", operatorState, operatorConfig, operatorLog, providerState, providerLog, providerVolumes, scaled} {
		failed = append(failed, os.RemoveAll(d.path(name)))
	}
	// A folder with foreign files stays.
	_ = os.Remove(d.dir)
	return errors.Join(failed...)
}
