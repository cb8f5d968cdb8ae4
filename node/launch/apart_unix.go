//go:build unix

package launch

import "syscall"

// apart keeps a process out of the terminal's group: an interruption is for the process that leads.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
