//go:build !unix

package launch

import "syscall"

// ownGroup returns nil on systems without process groups.
func ownGroup() *syscall.SysProcAttr { return nil }
