package dbtest

import "syscall"

// attributes makes the process end with the test, however that ends. PostgreSQL's children follow their postmaster.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
