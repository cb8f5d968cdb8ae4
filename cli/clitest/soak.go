//go:build soak

package clitest

func init() { soak = true }
