//go:build soak

package archive_test

func init() { requestsApart = 1 }
