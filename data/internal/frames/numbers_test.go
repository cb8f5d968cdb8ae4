package frames

import (
	"math/big"
	"testing"
)

// TestDecimalsHaveAllDigits holds decimals of one to 32 bytes against big rational numbers.
func TestDecimalsHaveAllDigits(t *testing.T) {
	t.Parallel()
	values := []string{"0", "1", "-1", "9", "-10", "127", "-128", "128", "255", "-32768", "9223372036854775807",
		"-9223372036854775808", "9223372036854775808", "18446744073709551615",
		"9999999999999999999", "10000000000000000000", "10000000000000000001", "99999999999999999999999999999999999999",
		"-99999999999999999999999999999999999999",
		"170141183460469231731687303715884105727", "-170141183460469231731687303715884105728",
		"170141183460469231731687303715884105728",
		"9999999999999999999999999999999999999999999999999999999999999999999999999999"}
	for _, text := range values {
		x, _ := new(big.Int).SetString(text, 10)
		for _, width := range []int{1, 4, 8, 9, 12, 16, 17, 32} {
			if x.BitLen()+1 > 8*width && text != "-170141183460469231731687303715884105728" && text != "-128" &&
				text != "-32768" && text != "-9223372036854775808" || x.BitLen() > 8*width {
				continue
			}
			raw := make([]byte, width)
			y := new(big.Int).Set(x)
			if x.Sign() < 0 {
				y.Add(y, new(big.Int).Lsh(big.NewInt(1), uint(8*width)))
			}
			y.FillBytes(raw)
			for _, scale := range []int{0, 1, 2, 18, 37, -2} {
				want := new(big.Rat).SetInt(x)
				ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(scale, -scale))), nil)
				if scale < 0 {
					want.Mul(want, new(big.Rat).SetInt(ten))
				} else {
					want.Quo(want, new(big.Rat).SetInt(ten))
				}
				digits := want.FloatString(max(0, scale))
				if got := string(appendDecimal([]byte("x"), raw, scale)); got != "x"+digits {
					t.Errorf("%s in %d bytes, scale %d, is %s, want %s", text, width, scale, got, digits)
				}
			}
		}
	}
}

func TestFloatsAreWrittenAsTheyAre(t *testing.T) {
	t.Parallel()
	for want, x := range map[string]float64{"1000000": 1e6, "-16777217": -16777217, "9007199254740992": 1 << 53,
		"9.007199254740994e+15": 1<<53 + 2, "0.1": 0.1, "1e-07": 1e-7, "0": 0} {
		if got := string(appendFloat(nil, x, 64)); got != want {
			t.Errorf("%v is %s, want %s", x, got, want)
		}
	}
	if got := string(appendFloat(nil, 16777216, 32)); got != "16777216" {
		t.Errorf("2^24 is %s", got)
	}
}
