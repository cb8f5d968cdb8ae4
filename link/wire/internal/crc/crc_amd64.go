package crc

import "github.com/klauspost/cpuid/v2"

// folds says whether the processor has what foldAVX512 needs.
var folds = cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512VL, cpuid.VPCLMULQDQ, cpuid.CLMUL, cpuid.SSE42)

// fold computes Update over whole blocks.
func fold(sum uint32, b []byte) uint32 { return ^foldAVX512(^sum, &b[0], len(b)) }
