// Package vec has the kernels for float32: sums and products of vectors and matrices, exp, log, sigmoid and softmax,
// and gradient steps. There are also sparse products, steps of AdaGrad, momentum and Adam, conversion to and from
// 16-bit formats, and the inner loop of matrix factorisation. Each fast kernel stands next to a slow reference in plain
// Go that tests it.
//
// # Duties of a caller, in order
//
//  1. Choose the kernel set once, at the start of the program, before any
//     kernel runs: [Use] pins one of [Sets]; without it the best set of this
//     CPU is taken. Changing the set while kernels run is not an error of
//     memory, but calls then mix sets.
//  2. Pass slices of the lengths that each function states. A wrong length, a
//     row stride below the row or an index outside its slab is an error of the
//     program, not of the data, and panics with the sizes it saw.
//  3. Do not let two goroutines write one slice. Every kernel is safe for
//     concurrent calls on separate slices, and none starts a goroutine.
//
// # What repeats
//
// A result depends on the values, the lengths and the kernel set, and on
// nothing else: not on where a slice starts in memory, not on the other rows
// of a matrix, not on earlier calls.
// The sets "avx2" and "avx512" give the same bits. The set "go" gives the
// same bits on every machine, but not those of the other two, because plain Go
// has no fused multiply-add in single precision and sums in another order. Where
// a function says so, "go" gives those bits too.
//
// # What it refuses
//
// No allocation in steady state, no threads, no double precision, no
// complex numbers, no shapes of more than two dimensions, no broadcasting.
// Floating-point errors are values, not Go errors: NaN in means NaN out, as
// each function states. Nothing is flushed to zero; subnormal numbers are kept.
package vec

//go:generate go run -C gen . -part vector -pkg vec -out ../vector_amd64.s -stubs ../vector_stubs_amd64.go
//go:generate go run -C gen . -part step -pkg vec -out ../step_amd64.s -stubs ../step_stubs_amd64.go
//go:generate go run -C gen . -part sixteen -pkg vec -out ../sixteen_amd64.s -stubs ../sixteen_stubs_amd64.go
//go:generate go run -C gen . -part factor -pkg vec -out ../factor_amd64.s -stubs ../factor_stubs_amd64.go
//go:generate go run -C gen . -part gemm -pkg vec -out ../gemm_amd64.s -stubs ../gemm_stubs_amd64.go
//go:generate go run -C gen . -part checksum -pkg vec -out ../checksum_amd64.s -stubs ../checksum_stubs_amd64.go
//go:generate go run -C gen . -part counts -pkg vec -out ../counts_amd64.s -stubs ../counts_stubs_amd64.go
//go:generate go run -C gen . -part sparse -pkg vec -out ../sparse_amd64.s -stubs ../sparse_stubs_amd64.go
//go:generate go run -C gen . -part roofline -pkg roofline -out ../roofline/roofline_amd64.s -stubs ../roofline/roofline_stubs_amd64.go
