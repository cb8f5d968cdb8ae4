//go:build !planted

package planted

// On reports whether the bug is planted: never, in this build.
func On(string) bool { return false }
