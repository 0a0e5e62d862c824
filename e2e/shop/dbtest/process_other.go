//go:build !linux

package dbtest

import "syscall"

// attributes keeps a terminal's interrupt from the process: the test ends it.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
