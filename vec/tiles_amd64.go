package vec

// The choice of a kernel by the tile's size. Direct calls, not a table: with
// function values the compiler would move the operands to the heap.

// wideTile adds to one tile of c. height is 1 to 12, cols 1 to 32.
func wideTile(height, k int, a *float32, stepA int, b *float32, stepB int, alpha, beta float32, c *float32, strideC, cols int) {
	if cols > narrowWidth {
		twoVectors(height, k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	} else {
		oneVector(height, k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	}
}

// twoVectors adds to one tile of c. cols is 17 to 32.
func twoVectors(height, k int, a *float32, stepA int, b *float32, stepB int, alpha, beta float32, c *float32, strideC, cols int) {
	switch height {
	case 12:
		tile12x32AVX512(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	case 11:
		tile11x32AVX512(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	case 10:
		tile10x32AVX512(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	case 9:
		tile9x32AVX512(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	case 8:
		tile8x32AVX512(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	case 7:
		tile7x32AVX512(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	case 6:
		tile6x32AVX512(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	case 5:
		tile5x32AVX512(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	case 4:
		tile4x32AVX512(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	case 3:
		tile3x32AVX512(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	case 2:
		tile2x32AVX512(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	case 1:
		tile1x32AVX512(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	}
}

// oneVector adds to one tile of c. cols is 1 to 16.
func oneVector(height, k int, a *float32, stepA int, b *float32, stepB int, alpha, beta float32, c *float32, strideC, cols int) {
	switch height {
	case 12:
		tile12x16AVX512(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	case 11:
		tile11x16AVX512(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	case 10:
		tile10x16AVX512(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	case 9:
		tile9x16AVX512(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	case 8:
		tile8x16AVX512(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	case 7:
		tile7x16AVX512(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	case 6:
		tile6x16AVX512(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	case 5:
		tile5x16AVX512(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	case 4:
		tile4x16AVX512(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	case 3:
		tile3x16AVX512(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	case 2:
		tile2x16AVX512(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	case 1:
		tile1x16AVX512(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	}
}

// narrowTile adds to one tile of c. height is 1 to 6, cols 1 to 16.
func narrowTile(height, k int, a *float32, stepA int, b *float32, stepB int, alpha, beta float32, c *float32, strideC, cols int) {
	switch height {
	case 6:
		tile6x16AVX2(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	case 5:
		tile5x16AVX2(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	case 4:
		tile4x16AVX2(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	case 3:
		tile3x16AVX2(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	case 2:
		tile2x16AVX2(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	case 1:
		tile1x16AVX2(k, a, stepA, b, stepB, alpha, beta, c, strideC, cols)
	}
}

// dotTiles sets tiles of c, one below another, by inner products. rows is 1 or
// 2, cols 1 to 5.
func dotTiles(rows, cols, tiles, k int, a *float32, strideA int, b *float32, strideB int, alpha, beta float32, c *float32, strideC int) {
	switch 5*(rows-1) + cols {
	case 1:
		dots1x1AVX2(tiles, k, a, strideA, b, strideB, alpha, beta, c, strideC)
	case 2:
		dots1x2AVX2(tiles, k, a, strideA, b, strideB, alpha, beta, c, strideC)
	case 3:
		dots1x3AVX2(tiles, k, a, strideA, b, strideB, alpha, beta, c, strideC)
	case 4:
		dots1x4AVX2(tiles, k, a, strideA, b, strideB, alpha, beta, c, strideC)
	case 5:
		dots1x5AVX2(tiles, k, a, strideA, b, strideB, alpha, beta, c, strideC)
	case 6:
		dots2x1AVX2(tiles, k, a, strideA, b, strideB, alpha, beta, c, strideC)
	case 7:
		dots2x2AVX2(tiles, k, a, strideA, b, strideB, alpha, beta, c, strideC)
	case 8:
		dots2x3AVX2(tiles, k, a, strideA, b, strideB, alpha, beta, c, strideC)
	case 9:
		dots2x4AVX2(tiles, k, a, strideA, b, strideB, alpha, beta, c, strideC)
	case 10:
		dots2x5AVX2(tiles, k, a, strideA, b, strideB, alpha, beta, c, strideC)
	}
}
