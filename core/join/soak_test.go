//go:build soak

package join_test

func init() { orders = 20_000 }
