//go:build unix

package manager

import "syscall"

// ownGroup keeps a process out of the terminal's group: an interruption there is not for it.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
