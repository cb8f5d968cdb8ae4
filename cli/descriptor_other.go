//go:build !unix

package cli

import "os"

// readWrite reports false: only on Unix the runtime replaces closed descriptors.
func readWrite(*os.File) bool { return false }

func shared(_, _ *os.File) bool { return false }
