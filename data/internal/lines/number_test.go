package lines

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// parse runs the fast path and, as every caller does, the slow one behind it.
func parse(field string) (v float32, fast bool, err error) {
	text := append([]byte(field), '\n')
	if v, end := ordinary(text, 0); end == len(field) {
		return v, true, nil
	}
	v, err = Number([]byte(field))
	return v, false, err
}

func checkNumber(t *testing.T, field string) (fast bool) {
	t.Helper()
	want, wantErr := strconv.ParseFloat(field, 32)
	got, fast, err := parse(field)
	if (err == nil) != (wantErr == nil) || err == nil && math.Float32bits(got) != math.Float32bits(float32(want)) {
		t.Fatalf("%q: got %v (%x), %v; strconv says %v (%x), %v", field, got, math.Float32bits(got), err,
			float32(want), math.Float32bits(float32(want)), wantErr)
	}
	return fast
}

func TestNumberEqualsStrconv(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	fast, all := 0, 0
	for range 200_000 {
		digits := rng.IntN(22) + 1
		field := strconv.FormatUint(rng.Uint64(), 10)
		field = field[:min(digits, len(field))]
		if rng.IntN(2) == 0 {
			at := rng.IntN(len(field) + 1)
			field = field[:at] + "." + field[at:]
		}
		if rng.IntN(4) == 0 {
			field += fmt.Sprintf("e%d", rng.IntN(100)-50)
		}
		if rng.IntN(3) == 0 {
			field = "-" + field
		}
		all++
		if checkNumber(t, field) {
			fast++
		}
	}
	if fast < all*3/4 {
		t.Errorf("only %d of %d ordinary numbers took the fast path", fast, all)
	}
}

// Decimals at and next to the middle of two float32 are where rounding twice goes wrong.
func TestNumberAtMidpoints(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	for range 50_000 {
		low := math.Float32frombits(rng.Uint32()%0x7f000000 + 1)
		high := math.Nextafter32(low, math.MaxFloat32)
		middle := (float64(low) + float64(high)) / 2
		for _, y := range []float64{middle, math.Nextafter(middle, 0), math.Nextafter(middle, math.MaxFloat64)} {
			for precision := 8; precision <= 20; precision += 3 {
				checkNumber(t, strconv.FormatFloat(y, 'g', precision, 64))
				if y > 1e-15 && y < 1e18 {
					checkNumber(t, strconv.FormatFloat(y, 'f', precision, 64))
				}
			}
		}
	}
}

func TestNumberEdges(t *testing.T) {
	t.Parallel()
	for _, field := range []string{
		"0", "-0", "+0", "1", "-1", "+1", "0.5", ".5", "5.", "-.5", "16777217", "16777219", "1e10", "1E+10", "1e-10",
		"3.4028235e38", "3.4028236e38", "1e39", "-1e39", "1e-45", "7e-46", "1e-60", "1.17549435e-38",
		"9999999999999999999", "99999999999999999999", "0.00000000000000000000000001", "00000000000000000000012",
		"1e999", "1e-999", "8388608.5", "8388609.5", "0.1", "0.2", "0.3", "100000000000000000000000000000000000000",
	} {
		checkNumber(t, field)
	}
	for field, want := range map[string]error{
		"": ErrNotNumber, ".": ErrNotNumber, "-": ErrNotNumber, "+-1": ErrNotNumber, "1e": ErrNotNumber,
		"1e+":  ErrNotNumber,
		"0x10": ErrNotNumber, "0x1p-2": ErrNotNumber, "1_000": ErrNotNumber, "0,5": ErrNotNumber, "1 2": ErrNotNumber,
		"nan": errNotFinite, "-NaN": errNotFinite, "inf": errNotFinite, "+Inf": errNotFinite, "Infinity": errNotFinite,
		"4e38": errTooLarge, "--1": ErrNotNumber, "1.2.3": ErrNotNumber, "٣": ErrNotNumber,
	} {
		if _, _, err := parse(field); err != want {
			t.Errorf("%q: got %v, want %v", field, err, want)
		}
	}
}

func BenchmarkNumber(b *testing.B) {
	for _, field := range []string{"1", "42", "0.15228", "-0.0540541", "881250949", "0.12345678901234567"} {
		b.Run(field, func(b *testing.B) {
			text := append([]byte(field), '\n')
			b.SetBytes(int64(len(field)))
			for b.Loop() {
				if _, end := ordinary(text, 0); end < 0 {
					b.Fatal("slow path")
				}
			}
		})
	}
}

// TestWhole compares whole with counting digit by digit, at every distance from the end of the text.
func TestWhole(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"", "0", "7", "42", "007", "999999", "1234567", "12345678", "123456789012345678"} {
		for _, behind := range []string{"\n", "\t1\n", ":5 6:7 8:9\n", "\xff\xb0\xb9\x2f\x3a\n", "/////////\n",
			"::::::::::\n"} {
			want, _ := strconv.Atoi("0" + c)
			text := []byte("x" + c + behind)
			if n, end := whole(text, 1); n != want || end != 1+len(c) {
				t.Errorf("whole(%q, 1) = %d, %d; want %d, %d", text, n, end, want, 1+len(c))
			}
		}
	}
}
