package processes_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/e2e/framework"
)

const (
	// bound is for anything that a healthy fleet does.
	bound = 4 * time.Minute
	// endBound is for the end of a process after SIGTERM.
	endBound = 20 * time.Second
)

// program is a process under test.
type program struct {
	cmd     *exec.Cmd
	logFile string
	// metrics and health are where it serves.
	metrics, health string
	// ended is closed when it has ended; err is how, from then on.
	ended chan struct{}
	err   error
}

// launch starts a binary, on free addresses, with its log beside the binary.
func launch(t *testing.T, binary string, args ...string) *program {
	t.Helper()
	p := &program{metrics: framework.FreeAddress(t), health: framework.FreeAddress(t), ended: make(chan struct{})}
	log, err := os.CreateTemp(filepath.Dir(binary), "log-")
	if err != nil {
		t.Fatal(err)
	}
	p.logFile = log.Name()
	args = append([]string{"--metrics-bind-address", p.metrics, "--health-probe-bind-address", p.health}, args...)
	// It must outlive the subtest that starts it.
	p.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), binary, args...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = errors.Join(p.cmd.Wait(), log.Close())
		close(p.ended)
	}()
	return p
}

// stop kills what is left of a process when its test ends.
func (p *program) stop() {
	// The error means that it has ended already.
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// signal sends a signal.
func (p *program) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// awaitEnd waits until the process has ended, and returns its exit code.
func (p *program) awaitEnd(t *testing.T, within time.Duration) int {
	t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(within):
		t.Fatalf("after %s, the process still runs; its log ends with:\n%s", within, tail(p.log(t, 0)))
		return -1
	}
}

// terminate sends SIGTERM, polls the readiness of the process until it has ended, and checks
// that it exits with code 0.
func (p *program) terminate(t *testing.T) {
	t.Helper()
	began := time.Now()
	p.signal(t, syscall.SIGTERM)
	var answers []int
	for running := true; running && time.Since(began) < endBound; {
		select {
		case <-p.ended:
			running = false
		case <-time.After(time.Millisecond):
			code, err := p.probe(t.Context(), "/readyz")
			if err == nil && (len(answers) == 0 || answers[len(answers)-1] != code) {
				answers = append(answers, code)
			}
		}
	}
	if code := p.awaitEnd(t, time.Millisecond); code != 0 {
		t.Errorf("after SIGTERM, it exited with %d: %v; its log ends with:\n%s", code, p.err, tail(p.log(t, 0)))
	}
	t.Logf("after SIGTERM, it ended after %s; /readyz answered %v", time.Since(began).Round(time.Millisecond), answers)
	// It may have been ready until the signal arrived, and never again.
	if first := slices.Index(answers, http.StatusInternalServerError); first >= 0 && slices.Contains(answers[first:], http.StatusOK) {
		t.Errorf("while it ended, /readyz answered %v", answers)
	}
}

// probe asks for /healthz or /readyz.
func (p *program) probe(ctx context.Context, path string) (int, error) {
	return framework.Probe(ctx, "http://"+p.health+path)
}

func (p *program) awaitReady(t *testing.T) {
	t.Helper()
	framework.Eventually(t, "the process to be ready", func(ctx context.Context) error {
		select {
		case <-p.ended:
			t.Fatalf("it ended: %v; its log ends with:\n%s", p.err, tail(p.log(t, 0)))
		default:
		}
		for _, path := range []string{"/healthz", "/readyz"} {
			if code, err := p.probe(ctx, path); err != nil || code != http.StatusOK {
				return fmt.Errorf("%s answers %d (%w)", path, code, err)
			}
		}
		return nil
	})
}

// log returns what the process logged behind a place in its log.
func (p *program) log(t *testing.T, after int) string {
	t.Helper()
	return string(readFile(t, p.logFile)[after:])
}

// tail returns the last lines of a log.
func tail(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
