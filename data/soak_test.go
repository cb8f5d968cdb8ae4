//go:build soak

package data

func init() { claimsApart = 1 }
