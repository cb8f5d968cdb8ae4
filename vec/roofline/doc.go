// Package roofline has kernels that only move data: the highest speed that a kernel of package vec could have on the
// same slices. A benchmark runs both and prints the ratio.
//
//	Read       the limit of SumSquares and AbsMax
//	ReadTwo    the limit of Dot
//	Update     the limit of Scale
//	UpdateFrom the limit of Axpy and Add
//
// Call each on the slices that the kernel is measured on, as often, and in the
// same run. The widest vectors that vec's sum kernels use are used here too. On a
// machine without assembly the loops are plain Go. Nothing here belongs in a
// program that does work.
package roofline
