package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Places in /proc/PID/stat, counted from the field after the command's name.
const (
	fieldState   = 0
	fieldThreads = 17
	fieldStarted = 19
)

type status struct {
	state   State
	started string
}

func attributes(tied bool) *syscall.SysProcAttr {
	if tied {
		// A group of its own keeps the terminal's Ctrl-C away: the parent decides.
		return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	}
	return &syscall.SysProcAttr{Setsid: true}
}

func inspect(pid int) (status, error) {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return status{}, fmt.Errorf("inspecting process %d: %w", pid, err)
	}
	// The name stands in parentheses and may itself contain some.
	fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
	if len(fields) <= fieldStarted {
		return status{}, fmt.Errorf("inspecting process %d: %d fields", pid, len(fields))
	}
	found := status{state: Running, started: string(fields[fieldStarted])}
	switch fields[fieldState][0] {
	case 'T', 't':
		found.state = Stopped
	case 'Z', 'X':
		// The first thread may end before the others, which still hold the ports.
		threads, err := strconv.Atoi(string(fields[fieldThreads]))
		if err != nil {
			return status{}, fmt.Errorf("inspecting process %d: %w", pid, err)
		}
		if threads <= 1 {
			found.state = Gone
		}
	}
	return found, nil
}
