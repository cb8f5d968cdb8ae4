package images

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"strings"

	"bellows/data/internal/lines"
)

// Size is the size of an image: its pixels, and the values of each pixel.
type Size struct {
	Width    int `json:"width"`
	Height   int `json:"height"`
	Channels int `json:"channels"` // 1: grey; 3: red, green, blue
}

// Grey and Colours are the numbers of values of a pixel.
const (
	Grey    = 1
	Colours = 3
)

// Values returns the number of values of an image.
func (s Size) Values() int { return s.Width * s.Height * s.Channels }

// Pixels formats the size in pixels.
func (s Size) Pixels() string { return fmt.Sprintf("%d × %d", s.Width, s.Height) }

// Same reports whether two sizes have the same pixels.
func (s Size) Same(o Size) bool { return s.Width == o.Width && s.Height == o.Height }

// pixelsMost bounds an image. Decoding takes up to 8 bytes per pixel.
const pixelsMost = 1 << 24

// The first bytes of images.
const (
	pngMagic  = "\x89PNG\r\n\x1a\n"
	jpegMagic = "\xff\xd8\xff"
)

// others are unsupported kinds of images, by their first bytes.
var others = []struct{ magic, what string }{
	{"GIF8", "a GIF image"}, {"BM", "a BMP image"}, {"RIFF", "a WebP image"}, {"II*\x00", "a TIFF image"},
	{"MM\x00*", "a TIFF image"},
	{"P5", "a PGM image"}, {"P6", "a PPM image"},
}

// SizeOf reads the header of an image: its size, and whether it is grey.
func SizeOf(f *File, b []byte, l Limits) (Size, error) {
	fail := func(what, how string) (Size, error) { return Size{}, &lines.Error{File: f.Name, What: what, How: how} }
	var c image.Config
	var err error
	switch {
	case len(b) == 0:
		return fail("the file is empty", "copy it again, or remove it")
	case bytes.HasPrefix(b, []byte(pngMagic)):
		c, err = png.DecodeConfig(bytes.NewReader(b))
	case bytes.HasPrefix(b, []byte(jpegMagic)):
		c, err = jpeg.DecodeConfig(bytes.NewReader(b))
	default:
		for _, o := range others {
			if bytes.HasPrefix(b, []byte(o.magic)) {
				return fail("is "+o.what+", and PNG and JPEG are read",
					"convert it, for example with ImageMagick: mogrify -format png FILE")
			}
		}
		return fail("is neither a PNG nor a JPEG image", "move it away, or convert it")
	}
	if err != nil {
		return Size{}, explain(f, err)
	}
	s := Size{c.Width, c.Height, Colours}
	if isGrey(c.ColorModel) {
		s.Channels = Grey
	}
	switch {
	case c.Width <= 0 || c.Height <= 0:
		return fail("its header says that it has no pixels", "the file is damaged; copy it again")
	case c.Width > pixelsMost/c.Height || c.Width*c.Height > l.Features/Colours:
		return fail(fmt.Sprintf("its header says that it has %s pixels, the limit is %d", s.Pixels(),
			min(pixelsMost, l.Features/Colours)),
			"make it smaller, for example with ImageMagick: mogrify -resize '64x64!' FILE")
	}
	return s, nil
}

// isGrey reports whether all colours of a model are grey.
func isGrey(m color.Model) bool {
	switch m := m.(type) {
	case color.Palette:
		for _, c := range m {
			if n := color.NRGBAModel.Convert(c).(color.NRGBA); n.R != n.G || n.G != n.B {
				return false
			}
		}
		return len(m) > 0
	default:
		return m == color.GrayModel || m == color.Gray16Model
	}
}

// Decode appends the values of an image with the given size, which comes from its header. Values are 0 to 255, row by
// row from the top, pixels from the left, with all channels of each pixel. Transparency is ignored. Of 16 bits the
// upper 8 are used.
func Decode(f *File, b []byte, s Size, to []byte) ([]byte, error) {
	var m image.Image
	var err error
	if bytes.HasPrefix(b, []byte(pngMagic)) {
		m, err = png.Decode(bytes.NewReader(b))
	} else {
		m, err = jpeg.Decode(bytes.NewReader(b))
	}
	if err != nil {
		return to, explain(f, err)
	}
	r := m.Bounds()
	if r.Dx() != s.Width || r.Dy() != s.Height {
		return to, &lines.Error{File: f.Name, What: "it is not of the size that its header says",
			How: "the file is damaged; copy it again"}
	}
	switch m := m.(type) {
	case *image.Gray:
		if s.Channels == Grey {
			for y := range s.Height {
				to = append(to, m.Pix[y*m.Stride:][:s.Width]...)
			}
			return to, nil
		}
	case *image.RGBA: // opaque
		return colours(to, m.Pix, m.Stride, s), nil
	case *image.NRGBA:
		return colours(to, m.Pix, m.Stride, s), nil
	case *image.YCbCr:
		for y := r.Min.Y; y < r.Max.Y; y++ {
			for x := r.Min.X; x < r.Max.X; x++ {
				i, j := m.YOffset(x, y), m.COffset(x, y)
				red, green, blue := color.YCbCrToRGB(m.Y[i], m.Cb[j], m.Cr[j])
				to = append(to, red, green, blue)
			}
		}
		return to, nil
	}
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			c := color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA)
			if s.Channels == Grey {
				to = append(to, c.R)
			} else {
				to = append(to, c.R, c.G, c.B)
			}
		}
	}
	return to, nil
}

// colours appends red, green and blue of pixels with a fourth value.
func colours(to, pixels []byte, stride int, s Size) []byte {
	for y := range s.Height {
		row := pixels[y*stride:][:4*s.Width]
		for x := 0; x < len(row); x += 4 {
			to = append(to, row[x], row[x+1], row[x+2])
		}
	}
	return to
}

// explain converts the error of a decoder.
func explain(f *File, err error) error {
	text := err.Error()
	for _, of := range []string{"png: ", "jpeg: ", "invalid format: ", "invalid JPEG format: "} {
		text = strings.TrimPrefix(text, of)
	}
	e := &lines.Error{File: f.Name, What: "the image is damaged: " + strings.TrimSpace(text),
		How: "copy it again, or remove it", Err: err}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF), strings.Contains(text, "not enough pixel data"):
		e.What, e.How = "the image ends early", "the file is truncated; copy it again, or remove it"
	case strings.Contains(text, "unsupported"):
		e.What, e.How = "the image is of a kind that is not read: "+text,
			"write it again, for example with ImageMagick: mogrify -format png FILE"
	}
	return e
}
