package clitest

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

// drawnSide is the width and the height of what draw makes, in pixels.
const drawnSide = 8

// draw implements `draw FOLDER IMAGES SEED`: so many PNG images of 8 × 8 pixels in each of FOLDER/cats, which are
// bright above, and FOLDER/dogs, which are so below.
func draw(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	seed, err := strconv.ParseUint(args[2], 10, 64)
	ts.Check(err)
	r := rand.New(rand.NewPCG(seed, 0))
	for class, name := range []string{"cats", "dogs"} {
		folder := ts.MkAbs(filepath.Join(args[0], name))
		ts.Check(os.MkdirAll(folder, 0o777))
		for i := range n {
			m := image.NewGray(image.Rect(0, 0, drawnSide, drawnSide))
			for y := range drawnSide {
				for x := range drawnSide {
					m.SetGray(x, y, color.Gray{Y: uint8(r.IntN(120) + (class^1^2*y/drawnSide)*130)})
				}
			}
			f, err := os.Create(filepath.Join(folder, fmt.Sprintf("%03d.png", i)))
			ts.Check(err)
			ts.Check(png.Encode(f, m))
			ts.Check(f.Close())
		}
	}
	ts.Check(age(ts.MkAbs(args[0])))
}
