//go:build unix

package clusterverbs

import "syscall"

// alone gives a process a session of its own: the end of the terminal is not its end.
func alone() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
