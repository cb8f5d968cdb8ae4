//go:build !linux

package fabric

// ShortenSlices does nothing on this system.
func ShortenSlices() {}
