package hub_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/setup"
	shared "github.com/shopfleet/shopfleet/spoke/runtime/manager"
)

// testFormerLeader stops a leader that is about to write, until its successor has written
// something newer.
func (p *process) testFormerLeader(t *testing.T) {
	t.Helper()
	former := p.startFormer(t)
	p.Register(t, "eu-1")
	p.AwaitMembers(t, "eu-1")
	app := small("fenced", "eu-1")
	p.Create(t, app)
	p.awaitCopy(t, app, "shop:v1")
	holder, err := p.holder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	member, err := url.Parse(p.Fleet.Member("eu-1").Server())
	if err != nil {
		t.Fatal(err)
	}
	former.tell(t, "hold "+member.Host)
	p.setImage(t, app, "shop:v2")
	former.await(t, "held")
	former.signal(t, syscall.SIGSTOP)

	stop, ended := p.run(t)
	framework.Eventually(t, "the standby to lead", func(ctx context.Context) error {
		now, err := p.holder(ctx)
		if err == nil && (now == "" || now == holder) {
			err = fmt.Errorf("%q leads: %w", now, errSameLeader)
		}
		return err
	})
	p.setImage(t, app, "shop:v3")
	p.awaitCopy(t, app, "shop:v3")

	woken := p.Mark(t)
	former.tell(t, "release")
	former.signal(t, syscall.SIGCONT)
	if err := former.wait(t); err == nil {
		t.Error("the former leader ended as if it had been told to")
	}
	// An API server answers 500 to a request that it got without the body. Anything else, a
	// conflict included, would mean that the write was sent.
	sent := func(e audit.Event) bool { return e.Code != http.StatusInternalServerError }
	for _, c := range p.Fleet.Clusters() {
		if log := p.Since(t, woken, c).ByAgent(formerAgent).Writes().Except("leases").Where(sent); len(log) > 0 {
			t.Errorf("in %s the former leader wrote:\n%s", c.Name(), log)
		}
	}
	p.awaitCopy(t, app, "shop:v3")
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the successor ended with: %v", err)
	}
}

func (p *process) setImage(t *testing.T, app *v1.EcommerceApp, image string) {
	t.Helper()
	framework.Edit(t, p.Hub, app, func(app *v1.EcommerceApp) { app.Spec.Image = image })
}

func (p *process) awaitCopy(t *testing.T, app *v1.EcommerceApp, image string) {
	t.Helper()
	framework.Await(t, p.Members["eu-1"], app.DeepCopy(), "the copy to have image "+image, func(copied *v1.EcommerceApp) error {
		if copied.Spec.Image != image {
			return fmt.Errorf("it has %s", copied.Spec.Image)
		}
		return nil
	})
}

// holder returns who leads.
func (p *process) holder(ctx context.Context) (string, error) {
	found := &coordinationv1.Lease{}
	err := p.Hub.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: lease}, found)
	return ptr.Deref(found.Spec.HolderIdentity, ""), err
}

var errSameLeader = errors.New("not the standby")

// formerVariable is the environment variable with the kubeconfig of a hub that this binary
// runs instead of the tests.
const formerVariable = "SHOPFLEET_TEST_FORMER_LEADER"

// formerAgent is the user agent of that hub.
const formerAgent = "former-leader"

// former is a hub in a process of its own, which a test can stop.
type former struct {
	command *exec.Cmd
	control io.Writer
	said    *bufio.Scanner
}

// startFormer runs a hub until the test ends.
func (p *process) startFormer(t *testing.T) *former {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), self)
	command.Env = append(os.Environ(), formerVariable+"="+p.kubeconfig)
	control, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	return &former{command: command, control: control, said: bufio.NewScanner(said)}
}

func (f *former) tell(t *testing.T, line string) {
	t.Helper()
	if _, err := fmt.Fprintln(f.control, line); err != nil {
		t.Fatal(err)
	}
}

// await blocks until the process says a line.
func (f *former) await(t *testing.T, line string) {
	t.Helper()
	watchdog := time.AfterFunc(fleettest.Timeout, func() { _ = f.command.Process.Kill() })
	defer watchdog.Stop()
	for f.said.Scan() {
		if f.said.Text() == line {
			return
		}
	}
	t.Fatalf("the process did not say %q", line)
}

func (f *former) signal(t *testing.T, signal os.Signal) {
	t.Helper()
	if err := f.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// wait blocks until the process has ended, and returns an error unless it succeeded.
func (f *former) wait(t *testing.T) error {
	t.Helper()
	watchdog := time.AfterFunc(fleettest.Timeout, func() {
		t.Error("the former leader goes on")
		_ = f.command.Process.Kill()
	})
	defer watchdog.Stop()
	return f.command.Wait()
}

// runFormer runs a hub that holds applies when it is told to, and returns its exit code.
func runFormer(kubeconfig string) int {
	h := &hold{released: make(chan struct{})}
	go h.listen(os.Stdin)
	err := setup.Run(context.Background(), setup.Options{
		Kubeconfig: kubeconfig, Namespace: config.Namespace, Version: "test", Wrap: h.wrap,
		Options: shared.Options{
			MetricsBindAddress: "0", HealthProbeBindAddress: "0", LeaderElect: true, LeaseDuration: leaseDuration,
		},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "hub:", err)
		return 1
	}
	return 0
}

// hold keeps applies to one host from the network.
type hold struct {
	host     atomic.Pointer[string]
	released chan struct{}
}

// listen follows orders, and ends the process when the test is gone.
func (h *hold) listen(orders io.Reader) {
	lines := bufio.NewScanner(orders)
	for lines.Scan() {
		if host, ok := strings.CutPrefix(lines.Text(), "hold "); ok {
			h.host.Store(&host)
		} else {
			close(h.released)
		}
	}
	os.Exit(2)
}

func (h *hold) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		host := h.host.Load()
		if host != nil && request.URL.Host == *host && request.Method == http.MethodPatch {
			fmt.Println("held")
			<-h.released
			// Not even its deadline ends it.
			request = request.WithContext(context.WithoutCancel(request.Context()))
		}
		request = request.Clone(request.Context())
		request.Header.Set("User-Agent", formerAgent)
		return next.RoundTrip(request)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }
