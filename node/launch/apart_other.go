//go:build !unix

package launch

import "syscall"

// apart does nothing where processes have no groups.
func apart() *syscall.SysProcAttr { return nil }
