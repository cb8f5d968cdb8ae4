package app

import "testing"

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"train", "eval", "predict", "model", "demo", "epochs", "mf", "mlr"}
	for word, want := range map[string]string{
		"tarin": "train", "trian": "train", "epocs": "epochs", "pred": "predict", "fm": "mf", "mrl": "mlr",
		"EVAL": "eval", "xyzzy": "", "quantum": "", "": "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("nearest to %q is %q, not %q", word, got, want)
		}
	}
}

func TestEdits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"ab", "ba", 1}, {"abc", "abd", 1}, {"kitten", "sitting", 3}} {
		if got := edits(c.a, c.b); got != c.want || edits(c.b, c.a) != got {
			t.Errorf("%q and %q are %d edits apart, not %d", c.a, c.b, got, c.want)
		}
	}
}
