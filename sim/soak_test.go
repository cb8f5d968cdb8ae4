//go:build soak

package sim

func init() { repeated, special = 200, 1000 }
