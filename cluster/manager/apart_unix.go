//go:build unix

package manager

import "syscall"

// apart keeps a process out of the terminal's group: an interruption there is not for it.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
