// Command gen writes the amd64 assembly of package vec with avo.
//
// Run it by "go generate" in the vec folder. It is a module of its own so that
// the project does not depend on avo. What it writes is committed.
package main

import (
	"flag"

	"github.com/mmcloughlin/avo/build"
)

func main() {
	part := flag.String("part", "vector", "which kernels to write: vector, step, sixteen, factor, gemm, checksum, counts, sparse, roofline or crc")
	flag.Parse()
	build.ConstraintExpr("amd64")
	switch *part {
	case "vector":
		vectorKernels()
	case "step":
		stepKernels()
	case "sixteen":
		sixteenKernels()
	case "factor":
		factorKernels()
	case "gemm":
		gemmKernels()
	case "checksum":
		checksumKernels()
	case "counts":
		countKernels()
	case "sparse":
		sparseKernels()
	case "crc":
		crcKernels()
	case "roofline":
		rooflineKernels()
	default:
		panic("gen: no part named " + *part)
	}
	build.Generate()
}
