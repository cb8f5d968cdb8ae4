package app

import "testing"

// TestAppendNumber: a number keeps the digits before its point, and one beyond an origin those of both.
func TestAppendNumber(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		origin, value float64
		want          string
	}{
		{0, 3.5, "3.5"}, {0, 25000000, "25000000"}, {0, float64(float32(0.1)), "0.1"}, {0, 1.5e-9, "1.5e-09"}, {0, 2e30, "2e+30"}, {0, 0, "0"}, {0, 1324.132, "1324.132"}, {0, 12345678, "12345678"}, {0, float64(float32(123456.79)), "123456.79"}, {0, float64(float32(1.0000001)), "1.0000001"},
		{25000000, 0.25, "25000000.25"}, {25000000, 0, "25000000"}, {1e8, float64(float32(0.1)), "100000000.1"}, {-1764297407000, 12.5, "-1764297406987.5"},
		{24999999.9176, float64(float32(0.8385)), "25000000.7561"},
		{1764297407000000000, 229, "1764297407000000229"}, {1764297407000000, 1029.25, "1764297407001029.25"}, {-9007199254740992, -3, "-9007199254740995"}, {1 << 63, 7.5, "9223372036854775815.5"},
		{1764297407000000000, 0, "1764297407000000000"},
	} {
		if got := string(AppendNumber(nil, c.origin, c.value)); got != c.want {
			t.Errorf("%v beyond %v is %s, not %s", c.value, c.origin, got, c.want)
		}
	}
}
