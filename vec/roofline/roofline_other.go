//go:build !amd64

package roofline

func read(x []float32)          { goRead(x) }
func readTwo(x, y []float32)    { goReadTwo(x, y) }
func update(x []float32)        { goUpdate(x) }
func updateFrom(x, y []float32) { goUpdateFrom(x, y) }
