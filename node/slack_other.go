//go:build !linux

package node

// withSlack starts a process.
func withSlack(start func() error) error { return start() }
