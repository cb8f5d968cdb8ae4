//go:build !linux

package launch

import "os/exec"

// startPlaced starts a process.
func startPlaced(cmd *exec.Cmd, _, _ int) error { return cmd.Start() }
