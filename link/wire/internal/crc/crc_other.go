//go:build !amd64

package crc

import "hash/crc32"

// folds is false: hash/crc32 uses what other processors have.
const folds = false

// fold computes Update over whole blocks.
func fold(sum uint32, b []byte) uint32 { return crc32.Update(sum, castagnoli, b) }
