//go:build unix

package launch

import "syscall"

// ownGroup keeps a process out of the terminal's group: an interruption is for the process that leads.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
