// Command kernels compares the kernels of package vec with the limits of the machine and with OpenBLAS.
//
// It runs both measurements, or the one that --only names. The package comment of each says what it measures and needs.
package main

import (
	"bellows/bench/internal/pair"
	"bellows/bench/kernels/internal/gemm"
	"bellows/bench/kernels/internal/vectors"
)

func main() { pair.Programs(vectors.Program, gemm.Program) }
