//go:build soak

package sim

func init() { repeated, special, chosen = 200, 1000, 1000 }
