// Package crc computes CRC-32C, the checksum of every frame. It runs at the speed of memory if the processor has wide
// carry-less multiplication, and at that of package hash/crc32 otherwise. The sums are the same.
//
// Call Sum for one array, or Update for several, one after the other. The package knows no other polynomial.
package crc

import "hash/crc32"

//go:generate go run -C ../../../../vec/gen . -part crc -pkg crc -out ../../link/wire/internal/crc/crc_amd64.s -stubs ../../link/wire/internal/crc/crc_stubs_amd64.go

// castagnoli is the polynomial, which processors know.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// foldMin is the length from which folding is faster, and foldBlock what it takes at a time, in bytes.
const (
	foldMin   = 1 << 10
	foldBlock = 256
)

// Sum returns the sum of b.
func Sum(b []byte) uint32 { return Update(0, b) }

// Update returns the checksum after adding b.
func Update(sum uint32, b []byte) uint32 {
	if folds && len(b) >= foldMin {
		whole := len(b) &^ (foldBlock - 1)
		sum = fold(sum, b[:whole])
		b = b[whole:]
	}
	return crc32.Update(sum, castagnoli, b)
}
