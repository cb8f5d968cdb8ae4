//go:build unix

package launch

import "syscall"

// ownGroup keeps a process out of the terminal's process group, so that Ctrl-C interrupts only the leading process.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
