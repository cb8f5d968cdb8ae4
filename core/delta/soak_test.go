//go:build soak

package delta_test

func init() { merged = 2000 }
