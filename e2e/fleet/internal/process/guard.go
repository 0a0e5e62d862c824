package process

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// guardScript waits for the end of its input, which comes with the end of the
// parent, and repeats the removal while dying processes still write.
const guardScript = `cat >/dev/null; until rm -rf -- "$1"; do sleep 0.1; done`

// Guard removes a folder when the calling process ends without having done so.
type Guard struct {
	input io.Closer
	cmd   *exec.Cmd
}

// NewGuard starts to guard the folder.
func NewGuard(dir string) (*Guard, error) {
	cmd := &exec.Cmd{
		Path: "/bin/sh",
		Args: []string{"sh", "-c", guardScript, "fleet-guard", dir},
		// Out of reach of a Ctrl-C meant for the parent.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("opening the guard's input: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the guard of %q: %w", dir, err)
	}
	return &Guard{input: input, cmd: cmd}, nil
}

// Release removes the folder now and returns once it is gone.
func (g *Guard) Release() error {
	if err := errors.Join(g.input.Close(), g.cmd.Wait()); err != nil {
		return fmt.Errorf("releasing the guard: %w", err)
	}
	return nil
}
