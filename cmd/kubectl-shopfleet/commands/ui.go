package commands

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/hubstate"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/page"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/server"
	"github.com/shopfleet/shopfleet/config"
)

// fleetPage is the command that serves the page.
type fleetPage struct {
	*Program
	output *output
	port   uint16
	// file is the one to write instead of serving the page.
	file string
	// grafana is the address of the dashboard.
	grafana string
}

// pageAddress is the output of the command ui.
type pageAddress struct {
	// URL opens the page once; empty if it was written to a file.
	URL string `json:"url,omitempty"`
	// File is the file that the page was written to.
	File string `json:"file,omitempty"`
}

func (p *Program) uiCommand() *cobra.Command {
	c := &fleetPage{Program: p}
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Serve a read-only page about the fleet to your browser",
		Long: `Serve a read-only page about the fleet to your browser.

Its screens answer five questions: what needs you now and what to type, where each
EcommerceApp runs and how old that knowledge is, what is moving, what is lost if a region
goes, and why an EcommerceApp is not in a cluster. They follow the objects on the hub, which
the command lists and watches with your credentials, and with --as if you set it. It sends no
request to a member and changes nothing. What you may not read is shown as forbidden; with
--namespace only the objects of one namespace are read.

The page is served at 127.0.0.1 until you press Ctrl-C. The address that the command prints
opens it once, in one browser. With --once the command writes all screens as they are now to
one file that needs nothing else, for example for a ticket, and ends.

Charts of the last hours are in the dashboard of config/monitoring. With --grafana the page
links to it; it loads nothing from there.`,
		Example: `  kubectl shopfleet ui
  kubectl shopfleet ui --grafana https://grafana.example.com/d/shopfleet
  kubectl shopfleet ui --port 8080 --context hub
  kubectl shopfleet ui --once case-4711.html
  kubectl shopfleet ui -n production -o jsonpath='{.url}'`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	c.output = newReportOutput(cmd)
	cmd.Flags().Uint16Var(&c.port, "port", 0, "Port to listen at; default: a free one")
	cmd.Flags().StringVar(&c.file, "once", "", "Write the page to this `FILE`, which must not exist, instead of serving it; - is the standard output")
	cmd.Flags().StringVar(&c.grafana, "grafana", "", "`URL` of the dashboard in Grafana, for a link at the end of the page")
	files := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	for name, complete := range map[string]cobra.CompletionFunc{"port": cobra.NoFileCompletions, "grafana": cobra.NoFileCompletions, "once": files} {
		if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
			panic(err) // The flags were added above.
		}
	}
	return cmd
}

func (f *fleetPage) run(ctx context.Context) error {
	if err := f.output.check(); err != nil {
		return err
	}
	if err := checkGrafana(f.grafana); err != nil {
		return err
	}
	if f.file == "-" && f.output.format() != "" {
		return usagef("--output cannot be used with --once -, which writes the page to the standard output")
	}
	hub, err := f.hub()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	observer, err := f.observe(ctx, hub)
	if err != nil {
		return err
	}
	observed := make(chan struct{})
	go func() {
		defer close(observed)
		observer.Run(ctx)
	}()
	defer func() {
		stop()
		<-observed
	}()
	begin := f.clock.Now()
	if err := f.during("reading the fleet from "+hub.config.Host, func() error { return observer.Wait(ctx) }); err != nil {
		return fmt.Errorf("reading the fleet: %w", err)
	}
	known := observer.Snapshot()
	f.say("%s", readText(known, f.clock.Since(begin)))
	if f.file != "" {
		return f.once(known)
	}
	return f.serve(ctx, observer)
}

// checkGrafana rejects an address that a browser does not open, or that would put credentials into the page.
func checkGrafana(address string) error {
	parsed, err := url.Parse(address)
	if address != "" && (err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" || parsed.User != nil) {
		return usagef("--grafana: must be an http or https URL with a host and without credentials, such as https://grafana.example.com/d/shopfleet")
	}
	return nil
}

// observe returns what observes the hub as the user.
func (f *fleetPage) observe(ctx context.Context, hub *cluster) (*hubstate.Observer, error) {
	query, err := hub.query(f.retrying)
	if err != nil {
		return nil, err
	}
	facts := hubstate.Hub{Server: hub.config.Host, Namespace: *f.flags.Namespace, Grafana: f.grafana}
	if err := f.during("waiting for the hub at "+hub.config.Host, func() error {
		version, err := f.hubVersion(ctx, hub)
		if err == nil {
			facts.Version = version.Version
		}
		return err
	}); err != nil {
		return nil, err
	}
	lease := func(ctx context.Context) (*coordinationv1.Lease, error) {
		found := &coordinationv1.Lease{}
		err := hub.client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: deploymentName(config.Hub)}, found)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("reading the Lease of the hub: %w", err)
		}
		return found, nil
	}
	observer, err := hubstate.NewObserver(hubstate.Options{Query: query, Hub: facts, Lease: lease, Clock: f.clock})
	if err != nil {
		return nil, fmt.Errorf("observing the hub: %w", err)
	}
	return observer, nil
}

// readText says what was read, in which time, and what could not be.
func readText(s *hubstate.Snapshot, took time.Duration) string {
	text := fmt.Sprintf("read %d EcommerceApps, %d MemberClusters and %d Backups in %s",
		len(s.Apps), len(s.Members), len(s.Backups), took.Round(10*time.Millisecond))
	var missing []string
	for _, source := range s.Sources {
		if !source.Read {
			missing = append(missing, source.Kind)
		}
	}
	if len(missing) > 0 {
		text += "; not readable: " + strings.Join(missing, ", ")
	}
	return text
}

// serve serves the page until ctx is done.
func (f *fleetPage) serve(ctx context.Context, observer *hubstate.Observer) error {
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: int(f.port)})
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return fmt.Errorf("listening at %s: %w", listener.Addr(), errFailed)
	}
	handler, opens, err := server.New(server.Options{Source: observer, Clock: f.clock, Address: address})
	if err != nil {
		return errors.Join(fmt.Errorf("preparing the page: %w", err), listener.Close())
	}
	f.say("The page is served until you press Ctrl-C. This address opens it once:")
	if err := f.show(pageAddress{URL: opens}, opens); err != nil {
		return errors.Join(err, listener.Close())
	}
	serving := server.NewHTTP(handler)
	end := context.AfterFunc(ctx, func() { _ = serving.Close() }) // Streams do not end by themselves.
	defer end()
	if err := serving.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the page: %w", err)
	}
	return fmt.Errorf("serving the page: %w", context.Cause(ctx))
}

// once writes the page to the file.
func (f *fleetPage) once(known *hubstate.Snapshot) error {
	rendered, err := page.New()
	if err != nil {
		return fmt.Errorf("preparing the page: %w", err)
	}
	if f.file == "-" {
		if err := rendered.File(f.streams.Out, known, f.clock.Now()); err != nil {
			return fmt.Errorf("writing the page: %w", err)
		}
		return nil
	}
	file, err := os.OpenFile(filepath.Clean(f.file), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return hint.With(fmt.Errorf("creating the page: %w", err), "Choose another file with --once.")
	}
	if err != nil {
		return fmt.Errorf("creating the page: %w", err)
	}
	if err := errors.Join(rendered.File(file, known, f.clock.Now()), file.Close()); err != nil {
		return errors.Join(fmt.Errorf("writing the page: %w", err), os.Remove(f.file))
	}
	return f.show(pageAddress{File: f.file}, "wrote "+f.file)
}

// show prints where the page is, as a report or as a line of text.
func (f *fleetPage) show(at pageAddress, text string) error {
	if !f.output.text() {
		return f.output.printReport(f.Program, "Page", &at)
	}
	if _, err := fmt.Fprintln(f.streams.Out, text); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}
