package fakemembers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// command is the program that Start builds.
const command = "github.com/shopfleet/shopfleet/e2e/fleet/fakemembers/cmd/fakemembers"

var errRefused = errors.New("the process of the fake members refused")

// Process is a process that serves members. It is safe for concurrent use.
type Process struct {
	Announcement
	// PID is the ID of the process.
	PID int
}

// Start builds and starts a process that serves members of these names until the test ends.
func Start(t testing.TB, names ...string) *Process {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "fakemembers")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", binary, command).CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", command, err, out)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), binary, names...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // It ends by that.
		if err := cmd.Wait(); err != nil {
			t.Errorf("the fake members ended with an error: %v", err)
		}
	})
	p := &Process{PID: cmd.Process.Pid}
	if err := json.NewDecoder(out).Decode(&p.Announcement); err != nil {
		t.Fatalf("starting the fake members: %v", err)
	}
	return p
}

// Close ends all connections of a member, and has it refuse others until Open.
func (p *Process) Close(ctx context.Context, name string) error {
	return p.call(ctx, http.MethodPost, "/close/"+name, nil)
}

// Open makes a member listen on its address again.
func (p *Process) Open(ctx context.Context, name string) error {
	return p.call(ctx, http.MethodPost, "/open/"+name, nil)
}

// Requests returns Member.Requests of all members.
func (p *Process) Requests(ctx context.Context) (all map[string]map[string]int, err error) {
	err = p.call(ctx, http.MethodGet, "/requests", &all)
	return all, err
}

// call sends a request to the process, and decodes the response unless into is nil.
func (p *Process) call(ctx context.Context, method, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+p.Control+path, http.NoBody)
	if err != nil {
		return fmt.Errorf("making a request: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("asking the fake members: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	switch {
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %s: %w", path, response.Status, errRefused)
	case into == nil:
		return nil
	}
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		return fmt.Errorf("decoding %s: %w", path, err)
	}
	return nil
}
