//go:build unix

package clusterverbs

import "syscall"

// alone gives a process a session of its own, so that it outlives the terminal.
func alone() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
