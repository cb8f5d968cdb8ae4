//go:build soak

package sim

func init() { repeated = 200 }
