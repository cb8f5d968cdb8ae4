// Package figures formats numbers for people, in the same way wherever a command shows one. It refuses nothing: what is
// no number is a dash.
package figures

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Grouped writes n with a space before every third digit: 184 211.
func Grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for at := len(s) - 3; at > 0 && s[at-1] != '-'; at -= 3 {
		s = s[:at] + " " + s[at:]
	}
	return s
}

// Rate writes a number of things a second in three or four letters: 950, 48.8k, 2.2M.
func Rate(perSecond float64) string {
	switch {
	case math.IsNaN(perSecond) || math.IsInf(perSecond, 0):
		return "-"
	case perSecond >= 1e9:
		return fmt.Sprintf("%.1fG", perSecond/1e9)
	case perSecond >= 1e6:
		return fmt.Sprintf("%.1fM", perSecond/1e6)
	case perSecond >= 1e3:
		return fmt.Sprintf("%.1fk", perSecond/1e3)
	}
	return fmt.Sprintf("%.0f", perSecond)
}

// Number writes a figure of a model in nine characters at most: with four decimals up to a thousand, with two up to a hundred thousand, and
// beyond that or below a thousandth with three digits and an exponent: 0.9081, 4521.75, 1.83e+09, 2.5e-08.
func Number(v float64) string {
	size := math.Abs(v)
	switch {
	case math.IsNaN(v):
		return "-"
	case size == 0 || size >= 1e-3 && size < 999.99995:
		return fmt.Sprintf("%.4f", v)
	case size >= 1e-3 && size < 99999.995:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// counts are the metrics that count things.
var counts = map[string]bool{"nonzero": true, "unknown_features": true}

// Value writes the figure of a metric as Number does, and one that counts things as a whole number.
func Value(metric string, v float64) string {
	if counts[metric] && v == math.Trunc(v) && math.Abs(v) < 1e9 {
		return strconv.FormatInt(int64(v), 10)
	}
	return Number(v)
}

// Remaining formats how many seconds remain: "3 s", "85 s", "12 min", "2.5 h". It rounds up: an estimate that is
// exceeded is worse than one that is met early.
func Remaining(seconds float64) string {
	switch {
	case math.IsNaN(seconds) || math.IsInf(seconds, 0) || seconds < 0:
		return "-"
	case seconds <= 100:
		return fmt.Sprintf("%.0f s", max(1, math.Ceil(seconds)))
	case seconds <= 100*60:
		return fmt.Sprintf("%.0f min", math.Ceil(seconds/60))
	}
	return fmt.Sprintf("%.1f h", math.Ceil(seconds/360)/10)
}

// Duration writes seconds with as many decimals as still tell something: 0.0041, 0.061, 0.61, 12.3.
func Duration(seconds float64) string {
	switch {
	case seconds < 0.01:
		return fmt.Sprintf("%.4f", seconds)
	case seconds < 0.1:
		return fmt.Sprintf("%.3f", seconds)
	case seconds < 10:
		return fmt.Sprintf("%.2f", seconds)
	}
	return fmt.Sprintf("%.1f", seconds)
}

// Bytes writes a size in binary units: 1.5 GiB.
func Bytes(n uint64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"}
	v, u := float64(n), 0
	for v >= 1024 && u < len(units)-1 {
		v, u = v/1024, u+1
	}
	if u == 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[u])
}

// metricWords are the metrics as people write them.
var metricWords = map[string]string{
	"rmse": "RMSE", "accuracy": "accuracy", "logloss": "log-loss", "auc": "AUC", "r2": "R²", "mae": "MAE",
	"loglik_per_token": "log-likelihood per token", "perplexity": "perplexity",
}

// Metric returns the name of a metric on the screen: "test RMSE" for test_rmse.
func Metric(name string) string {
	for _, part := range []string{"train_", "test_"} {
		if plain, ok := strings.CutPrefix(name, part); ok {
			return strings.TrimSuffix(part, "_") + " " + Metric(plain)
		}
	}
	if word, ok := metricWords[name]; ok {
		return word
	}
	return strings.ReplaceAll(name, "_", " ")
}

// Spread returns into how many parts the data of a job is cut, its splits, and for how many workers they are enough.
func Spread(splits, workers int) string {
	return "data in " + Plural(splits, "part") + " for up to " + Plural(workers, "worker")
}

// Surplus says how many of a job's workers run no tasks, since the data has fewer parts; empty: none, or
// the number of parts is not known, which is 0.
func Surplus(workers, splits int) string {
	if workers <= splits || splits == 0 {
		return ""
	}
	runs := "runs"
	if workers-splits > 1 {
		runs = "run"
	}
	return fmt.Sprintf("%d of %s %s no tasks, since the data is in %s", workers-splits, Plural(workers, "node"), runs, Plural(splits, "part"))
}

// Plural returns "1 argument" or "2 arguments", "2 processes".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "s") {
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
