//go:build linux || darwin || freebsd

package cache

import "syscall"

// freeBytes returns the bytes that the user may still write to the disk of a folder. ok is false if they are unknown.
func freeBytes(folder string) (free int64, ok bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
