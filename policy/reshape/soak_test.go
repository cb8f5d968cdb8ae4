//go:build soak

package reshape_test

func init() { orders = 10_000 }
