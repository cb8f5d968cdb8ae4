package roofline

import "golang.org/x/sys/cpu"

var hasAVX2 = cpu.X86.HasAVX2

func read(x []float32) {
	if !hasAVX2 {
		goRead(x)
	} else if len(x) > 0 {
		readAVX2(len(x), &x[0])
	}
}

func readTwo(x, y []float32) {
	if !hasAVX2 {
		goReadTwo(x, y)
	} else if len(x) > 0 {
		readTwoAVX2(len(x), &x[0], &y[0])
	}
}

func update(x []float32) {
	if !hasAVX2 {
		goUpdate(x)
	} else if len(x) > 0 {
		updateAVX2(len(x), &x[0])
	}
}

func updateFrom(x, y []float32) {
	if !hasAVX2 {
		goUpdateFrom(x, y)
	} else if len(x) > 0 {
		updateFromAVX2(len(x), &x[0], &y[0])
	}
}
