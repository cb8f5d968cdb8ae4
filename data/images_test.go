package data

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bellows/data/internal/images"
)

// encoded returns a picture as PNG.
func encoded(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// greyImage returns a picture with pixels that count up from first.
func greyImage(w, h, first int) image.Image {
	m := image.NewGray(image.Rect(0, 0, w, h))
	for i := range m.Pix {
		m.Pix[i] = byte(first + i)
	}
	return m
}

// colourImage returns a picture with channels that count up from first.
func colourImage(w, h, first int) image.Image {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range w * h {
		m.SetNRGBA(i%w, i/w, color.NRGBA{byte(first + 3*i), byte(first + 3*i + 1), byte(first + 3*i + 2), 255})
	}
	return m
}

// tarred returns an archive of files in the order of their names, or in that of the names given.
func tarred(t testing.TB, files map[string][]byte, order ...string) []byte {
	t.Helper()
	if order == nil {
		order = slices.Sorted(maps.Keys(files))
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range order {
		h := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name])), Typeflag: tar.TypeReg}
		if strings.HasSuffix(name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(files[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// laid writes files below a folder.
func laid(t testing.TB, dir string, files map[string][]byte) string {
	t.Helper()
	for name, content := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// pets returns a few grey images of 3 × 2 pixels in two classes, with what is passed over.
func pets(t testing.TB) map[string][]byte {
	return map[string][]byte{"cats/2.png": encoded(t, greyImage(3, 2, 20)),
		"cats/10.png": encoded(t, greyImage(3, 2, 100)), "dogs/1.png": encoded(t, greyImage(3, 2, 1)),
		"dogs/young/1.png": encoded(t, greyImage(3, 2, 7)), "README.md": []byte("pets"), "dogs/.hidden": {1}}
}

func readImages(t testing.TB, path string, opt Options) *Set {
	t.Helper()
	set, err := Read(t.Context(), []string{path}, Examples, opt)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestImagesOfAFolder: rows are the images in the order of their paths, a pixel a feature.
func TestImagesOfAFolder(t *testing.T) {
	t.Parallel()
	set := readImages(t, laid(t, t.TempDir(), pets(t)), Options{})
	e := set.Examples
	if !slices.Equal(e.LabelNames, []string{"cats", "dogs"}) || !slices.Equal(e.Label, []float32{0, 0, 1, 1}) ||
		e.Features != 6 ||
		!slices.Equal(e.Dense, []float32{100, 101, 102, 103, 104, 105, 20, 21, 22, 23, 24, 25, 1, 2, 3, 4, 5, 6, 7, 8,
			9, 10, 11, 12}) {
		t.Errorf("%+v", e)
	}
	if got := set.Detected.String(); got != "4 rows × 6 features, 2 classes, images of 3 × 2 pixels, grey" {
		t.Error(got)
	}
	if r := set.Reading; r.Format != Images || !r.TextLabels ||
		*r.Image != (images.Size{Width: 3, Height: 2, Channels: 1}) {
		t.Errorf("%+v", r)
	}
}

// TestImagesOfAnArchive: those of a folder come from archives in whatever way these are made, packed or not.
func TestImagesOfAnArchive(t *testing.T) {
	t.Parallel()
	files := pets(t)
	want := readImages(t, laid(t, t.TempDir(), files), Options{})
	for _, around := range []string{"", "./", "pets/", "./pets/../"} {
		in := map[string][]byte{}
		for name, content := range files {
			if around != "" || !strings.Contains(name, "young") {
				in[around+name] = content
			}
		}
		if around == "" { // without a folder around the classes, one may not begin with folders in it
			in["dogs/young/1.png"] = files["dogs/young/1.png"]
		}
		archive := tarred(t, in)
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		z.Write(archive)
		z.Close()
		for name, content := range map[string][]byte{"a.tar": archive, "a.tar.gz": packed.Bytes()} {
			file := filepath.Join(laid(t, t.TempDir(), map[string][]byte{name: content}), name)
			got, err := Read(t.Context(), []string{file}, Examples, Options{})
			if strings.Contains(around, "..") {
				if err == nil || !strings.Contains(err.Error(), "the name leads out of the archive") {
					t.Errorf("%v", err)
				}
				continue
			}
			if err != nil || got.Digest() != want.Digest() || !slices.Equal(got.Examples.Dense, want.Examples.Dense) ||
				!slices.Equal(got.Examples.LabelNames, want.Examples.LabelNames) {
				t.Errorf("%q in %s: %+v, %v", around, name, got, err)
			}
		}
	}
}

// TestOneImageWithColoursMakesAllSuch: grey ones have the same value three times then.
func TestOneImageWithColoursMakesAllSuch(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{"1/a.png": encoded(t, greyImage(2, 1, 50)), "2/b.png": encoded(t, colourImage(2, 1, 9))}
	set := readImages(t, laid(t, t.TempDir(), files), Options{})
	if e := set.Examples; e.LabelNames != nil || !slices.Equal(e.Label, []float32{1, 2}) ||
		!slices.Equal(e.Dense, []float32{50, 50, 50, 51, 51, 51, 9, 10, 11, 12, 13, 14}) {
		t.Errorf("%+v", e)
	}
	if !strings.HasSuffix(set.Detected.String(), "in colours") || set.Reading.Image.Channels != 3 {
		t.Errorf("%s, %+v", set.Detected, set.Reading)
	}
	one := readImages(t, laid(t, t.TempDir(), map[string][]byte{"1/a.png": files["1/a.png"]}), Options{}.ForTest(set))
	if !slices.Equal(one.Examples.Dense, []float32{50, 50, 50, 51, 51, 51}) {
		t.Errorf("as the model's: %v", one.Examples.Dense)
	}
}

// TestKindsOfPixels: whatever a picture keeps its pixels as, they are those that the image package has for them.
func TestKindsOfPixels(t *testing.T) {
	t.Parallel()
	bounds := image.Rect(0, 0, 5, 3)
	kinds := map[string]interface {
		image.Image
		Set(x, y int, c color.Color)
	}{
		"grey": image.NewGray(bounds), "grey of 16 bits": image.NewGray16(bounds), "colours": image.NewRGBA(bounds),
		"transparent": image.NewNRGBA(bounds), "of 16 bits": image.NewNRGBA64(bounds),
		"a palette of grey": image.NewPaletted(bounds, color.Palette{color.Gray{3}, color.NRGBA{200, 200, 200, 255}}),
		"a palette":         image.NewPaletted(bounds, color.Palette{color.Gray{3}, color.NRGBA{200, 0, 200, 9}}),
	}
	for name, m := range kinds {
		for i := range 15 {
			m.Set(i%5, i/5, color.NRGBA{byte(17 * i), byte(15 * i), byte(250 - 16*i), byte(255 - i%2*100)})
		}
		if name == "colours" {
			for i := range 15 {
				m.Set(i%5, i/5, color.NRGBA{byte(17 * i), byte(15 * i), byte(250 - 16*i), 255})
			}
		}
		content := map[string][]byte{"PNG": encoded(t, m)}
		if name == "grey" || name == "colours" {
			var b bytes.Buffer
			if err := jpeg.Encode(&b, m, nil); err != nil {
				t.Fatal(err)
			}
			content["JPEG"] = b.Bytes()
		}
		for form, raw := range content {
			back, _, err := image.Decode(bytes.NewReader(raw))
			if err != nil {
				t.Fatal(err)
			}
			f := &images.File{Name: name}
			size, err := images.SizeOf(f, raw, images.Limits{Features: 1 << 20})
			got, failed := images.Decode(f, raw, size, nil)
			grey := strings.Contains(name, "grey")
			if err != nil || failed != nil || (size.Channels == images.Grey) != grey || len(got) != size.Values() {
				t.Fatalf("%s as %s: %+v, %d values, %v, %v", name, form, size, len(got), err, failed)
			}
			for i := range 15 {
				c := color.NRGBAModel.Convert(back.At(i%5, i/5)).(color.NRGBA)
				if want := []byte{c.R, c.G, c.B}[:size.Channels]; !bytes.Equal(got[i*size.Channels:][:size.Channels],
					want) {
					t.Errorf("%s as %s: pixel %d is %v, not %v", name, form, i, got[i*size.Channels:][:size.Channels],
						want)
				}
			}
		}
	}
}

// many returns images of two classes in the order of their names, of 40 × 40 pixels, so that they fill some batches.
func many(t testing.TB, n int) map[string][]byte {
	files := map[string][]byte{}
	for i := range n {
		files[fmt.Sprintf("%s/%04d.png", []string{"a", "b"}[i%2], i)] = encoded(t, greyImage(40, 40, i))
	}
	return files
}

// TestImagesStream: blocks have the rows that a whole read has, from a folder and from an archive, with their classes
// and without; and above a defect all.
func TestImagesStream(t *testing.T) {
	t.Parallel()
	files := many(t, 400)
	dir := laid(t, t.TempDir(), files)
	archive := filepath.Join(laid(t, t.TempDir(), map[string][]byte{"x": tarred(t, files)}), "x")
	whole := readImages(t, dir, Options{})
	opt := Options{Workers: 3}.ForTest(whole)
	stream := func(path string, opt Options) (got []string, blocks int, d Detection, err error) {
		return streamOf(t, strings.Split(path, "\n"), Examples, opt)
	}
	want := rowsInWords(whole)
	for _, path := range []string{dir, archive} {
		got, blocks, d, err := stream(path, opt)
		if err != nil || blocks < 3 || !slices.Equal(got, want) || d.String() != whole.Detected.String() {
			t.Errorf("%d rows in %d blocks, %s: %v", len(got), blocks, d, err)
		}
		bare := opt
		bare.Unlabelled = true
		if got, _, _, err := stream(path, bare); err != nil || len(got) != len(want) {
			t.Errorf("without classes %d rows: %v", len(got), err)
		}
	}
	twice := opt
	twice.Limits.Rows = 700
	if got, _, _, err := stream(archive+"\n"+dir, twice); err == nil ||
		!strings.Contains(err.Error(), "there are more than 700 images") ||
		!slices.Equal(got, slices.Concat(want, want[:300])) {
		t.Errorf("of two inputs %d rows: %v", len(got), err)
	}
	files["a/0240.png"] = files["a/0240.png"][:100]
	laid(t, dir, files)
	if err := os.WriteFile(archive, tarred(t, files), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, archive} {
		got, _, _, err := stream(path, opt)
		if err == nil || !strings.Contains(err.Error(), "a/0240.png: the image ends early") ||
			!slices.Equal(got, want[:120]) {
			t.Errorf("%d rows, %v", len(got), err)
		}
	}
}

// TestImagesWithoutClasses may lie anywhere where no labels are wanted.
func TestImagesWithoutClasses(t *testing.T) {
	t.Parallel()
	dir := laid(t, t.TempDir(), map[string][]byte{"b.png": encoded(t, greyImage(2, 1, 3)),
		"a/x/c.png": encoded(t, greyImage(2, 1, 5)), "list.txt": {65}})
	set := readImages(t, dir, Options{Unlabelled: true})
	if e := set.Examples; !slices.Equal(e.Dense, []float32{5, 6, 3, 4}) || !slices.Equal(e.Label, []float32{0, 0}) ||
		e.LabelNames != nil {
		t.Errorf("%+v", e)
	}
	if got := set.Detected.String(); got != "2 rows × 2 features, images of 2 × 1 pixels, grey" {
		t.Error(got)
	}
}

// TestImagesAreStored, and another file, or one that has changed, is another input.
func TestImagesAreStored(t *testing.T) {
	t.Parallel()
	dir, cache := laid(t, t.TempDir(), pets(t)), t.TempDir()
	version := func() string {
		f, found, err := Files(t.Context(), dir, nil)
		if err != nil || !found || len(f) != 1 || f[0].Bytes == 0 {
			t.Fatal(f, found, err)
		}
		return f[0].Version
	}
	old(t, dir)
	want, before := readImages(t, dir, Options{Cache: cache}), version()
	again := readImages(t, dir, Options{Cache: cache})
	if want.Detected.CacheProblem != "" || !again.Detected.FromCache || again.Digest() != want.Digest() ||
		*again.Reading.Image != *want.Reading.Image || version() != before {
		t.Errorf("%+v, then %+v", want.Detected, again.Detected)
	}
	again.Close()
	for _, change := range []map[string][]byte{{"cats/3.png": encoded(t, greyImage(3, 2, 60))},
		{"dogs/1.png": encoded(t, greyImage(3, 2, 61))}, {"apes/1.png": encoded(t, greyImage(3, 2, 62))}} {
		laid(t, dir, change)
		set := readImages(t, dir, Options{Cache: cache})
		if set.Detected.FromCache || set.Digest() == want.Digest() || version() == before {
			t.Errorf("%v is not seen", slices.Collect(maps.Keys(change)))
		}
		want, before = set, version()
	}
}

// TestLinksOfImages checks that links are followed, but not in circles.
func TestLinksOfImages(t *testing.T) {
	t.Parallel()
	far := laid(t, t.TempDir(), pets(t))
	dir := t.TempDir()
	link := func(from, to string) {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	link("cats", filepath.Join(far, "cats"))
	link("dogs", filepath.Join(far, "dogs"))
	if set := readImages(t, dir, Options{}); set.Rows() != 4 ||
		!slices.Equal(set.Examples.LabelNames, []string{"cats", "dogs"}) {
		t.Errorf("%+v", set.Examples)
	}
	for from, c := range map[string][2]string{"self": {".", "self: is a link to a folder that it lies in"},
		"nothing": {"nowhere", "nothing: is a link to nothing"}} {
		link(from, c[0])
		if _, err := Read(t.Context(), []string{dir}, Examples, Options{}); err == nil ||
			!strings.Contains(err.Error(), c[1]) {
			t.Errorf("%v, not %s", err, c[1])
		}
		os.Remove(filepath.Join(dir, from))
	}
}

// fuzzImages reads what may be an archive, whole and in a stream: both end alike, in an *Error or in rows that hold
// together.
func fuzzImages(t *testing.T, archive []byte) {
	opt := Options{Format: Images, Limits: Limits{Features: 1 << 12, Rows: 100, OutputBytes: 1 << 20}}
	path := filepath.Join(t.TempDir(), "x.tar")
	if err := os.WriteFile(path, archive, 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := Read(t.Context(), []string{path}, Examples, opt)
	if e := (*Error)(nil); err != nil {
		if !errors.As(err, &e) || e.What == "" || e.File == "" {
			t.Fatalf("not an *Error: %v", err)
		}
		checkShape(t, "fuzzed", e)
		return
	}
	e := set.Examples
	if len(e.Label) == 0 || len(e.Dense) != len(e.Label)*e.Features || e.Features != set.Reading.Image.Values() {
		t.Fatalf("%d labels, %d values of %d features", len(e.Label), len(e.Dense), e.Features)
	}
	var got []float32
	_, err = Stream(t.Context(), []string{path}, Examples, opt.ForTest(set), func(b *Block) error {
		if err := b.Turn(); err != nil {
			return err
		}
		got = append(got, b.Set.Examples.Dense...)
		return nil
	})
	if err != nil || !slices.Equal(got, e.Dense) {
		t.Fatalf("in a stream %d values, not %d: %v", len(got), len(e.Dense), err)
	}
}

func FuzzImages(f *testing.F) {
	var b bytes.Buffer
	jpeg.Encode(&b, colourImage(3, 2, 7), nil)
	f.Add(tarred(f, pets(f)))
	f.Add(tarred(f, map[string][]byte{"x/1/a.jpg": b.Bytes(), "x/2/b.png": encoded(f, greyImage(3, 2, 1))}))
	f.Add(b.Bytes())
	seed(f, "images")
	f.Fuzz(fuzzImages)
}

// FuzzImage decodes what may be one image: in a folder, with no archive around it.
func FuzzImage(f *testing.F) {
	var b bytes.Buffer
	jpeg.Encode(&b, colourImage(3, 2, 7), nil)
	f.Add(b.Bytes())
	f.Add(encoded(f, greyImage(3, 2, 1)))
	f.Add(encoded(f, colourImage(3, 2, 1)))
	f.Add(encoded(f, image.NewPaletted(image.Rect(0, 0, 3, 2),
		color.Palette{color.Gray{3}, color.NRGBA{200, 0, 200, 9}})))
	f.Fuzz(func(t *testing.T, raw []byte) {
		file := &images.File{Name: "x"}
		size, err := images.SizeOf(file, raw, images.Limits{Features: 1 << 14})
		var got []byte
		if err == nil {
			got, err = images.Decode(file, raw, size, nil)
		}
		if e := (*Error)(nil); err != nil && (!errors.As(err, &e) || e.What == "" || e.How == "") {
			t.Fatalf("not an *Error: %v", err)
		}
		if err == nil && len(got) != size.Values() {
			t.Fatalf("%d values of %+v", len(got), size)
		}
	})
}

// old makes all that lies in a folder an hour old, so that what is read of it is stored.
func old(t testing.TB, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		then := time.Now().Add(-time.Hour)
		return cmp.Or(err, os.Chtimes(path, then, then))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestImagesByThemselves: images that are named one by one are those of their folders, whose names are their classes;
// where no class is wanted, one may lie anywhere. Other kinds of data, and further inputs of text, refuse them by name.
func TestImagesByThemselves(t *testing.T) {
	t.Parallel()
	files := pets(t)
	delete(files, "dogs/young/1.png") // a glob has no folders within folders
	dir := laid(t, t.TempDir(), files)
	want := readImages(t, dir, Options{})
	got := readImages(t, filepath.Join(dir, "*", "*.png"), Options{})
	if !slices.Equal(got.Examples.Dense, want.Examples.Dense) ||
		!slices.Equal(got.Examples.Label, want.Examples.Label) ||
		!slices.Equal(got.Examples.LabelNames, want.Examples.LabelNames) || got.Detected.Files != 3 {
		t.Errorf("%+v %+v, not %+v", got.Detected, got.Examples, want.Examples)
	}
	bare := laid(t, t.TempDir(), map[string][]byte{"1.png": files["cats/2.png"], "cut.png": files["cats/2.png"][:40],
		"a.svm": []byte("1 1:2\n")})
	one := readImages(t, filepath.Join(bare, "1.png"), Options{Unlabelled: true, As: want.Reading, Features: 6})
	if !slices.Equal(one.Examples.Dense, []float32{20, 21, 22, 23, 24, 25}) || one.Detected.Classes != 0 {
		t.Errorf("%+v", one.Examples)
	}
	piped := readImages(t, "-", Options{Unlabelled: true, Stdin: bytes.NewReader(files["cats/2.png"])})
	if !slices.Equal(piped.Examples.Dense, one.Examples.Dense) {
		t.Errorf("%+v", piped.Examples)
	}
	for _, c := range []struct {
		kind  Kind
		opt   Options
		names []string
		what  string
	}{
		{Examples, Options{Stdin: bytes.NewReader(files["cats/2.png"])}, []string{"-"}, "lies in no folder"},
		{Examples, Options{Unlabelled: true}, []string{"cut.png"}, "ends early"},
		{Examples, Options{Unlabelled: true}, []string{"1.png", "a.svm"}, "neither an image"},
		{Examples, Options{}, []string{"a.svm", "1.png"}, "is a PNG picture"},
		{Examples, Options{Format: CSV}, []string{"1.png"}, "is a PNG picture"},
		{Ratings, Options{}, []string{"1.png"}, "is a PNG picture"},
		{Documents, Options{}, []string{"1.png"}, "is a PNG picture"},
	} {
		var paths []string
		for _, name := range c.names {
			if name != "-" {
				name = filepath.Join(bare, name)
			}
			paths = append(paths, name)
		}
		if _, err := Read(t.Context(), paths, c.kind, c.opt); err == nil || !strings.Contains(err.Error(), c.what) {
			t.Errorf("%v as %v: %v", c.names, c.kind, err)
		}
	}
}
