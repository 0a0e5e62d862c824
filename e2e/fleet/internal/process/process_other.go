//go:build unix && !linux

package process

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const inspectTimeout = 5 * time.Second

type status struct {
	state   State
	started string
}

func attributes(tied bool) *syscall.SysProcAttr {
	if tied {
		return &syscall.SysProcAttr{Setpgid: true}
	}
	return &syscall.SysProcAttr{Setsid: true}
}

func inspect(pid int) (status, error) {
	ctx, cancel := context.WithTimeout(context.Background(), inspectTimeout)
	defer cancel()
	raw, err := exec.CommandContext(ctx, "ps", "-o", "state=,lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return status{}, fmt.Errorf("inspecting process %d: %w", pid, err)
	}
	state, started, _ := strings.Cut(strings.TrimSpace(string(raw)), " ")
	found := status{state: Running, started: strings.TrimSpace(started)}
	switch {
	case strings.HasPrefix(state, "T"):
		found.state = Stopped
	case state == "" || strings.HasPrefix(state, "Z"):
		found.state = Gone
	}
	return found, nil
}
