//go:build soak

package archive_test

func init() { requestsApart, bytesApart = 1, 1 }
