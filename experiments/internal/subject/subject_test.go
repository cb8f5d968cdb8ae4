package subject

import (
	"strings"
	"testing"
)

// TestAnOrderMakesTheSameJob wants two makings of an order to have one identity, and another size to have another.
func TestAnOrderMakesTheSameJob(t *testing.T) {
	for _, o := range []Order{{App: "mlr", Size: 200}, {App: "linear", Size: 200}, {App: "linear", Size: 200, Settings: map[string]string{"solver": "ftrl", "l1": "0.01"}}, {App: "lda", Size: 2}, {App: "mf", Size: 1}} {
		o.Epochs = 1
		a, err := o.Make()
		if err != nil {
			t.Fatal(err)
		}
		clear(made)
		b, err := o.Make()
		if err != nil {
			t.Fatal(err)
		}
		if a.Job.Data == "" || a.Job.Data != b.Job.Data || a.Items == 0 {
			t.Errorf("%s: %d items of %q and of %q", o.App, a.Items, a.Job.Data, b.Job.Data)
		}
		if o.Size > 1 {
			o.Size *= 2
			c, err := o.Make()
			if err != nil {
				t.Fatal(err)
			}
			if c.Job.Data == a.Job.Data || c.Items < a.Items*3/2 {
				t.Errorf("%s: of twice the size %d items, beside %d", o.App, c.Items, a.Items)
			}
		}
	}
}

// TestAnOrderThatCannotBeIsRefused names what is wrong.
func TestAnOrderThatCannotBeIsRefused(t *testing.T) {
	for want, o := range map[string]Order{
		"unknown application": {App: "svm", Size: 1},
		"size 0":              {App: "mlr"},
		"one demo":            {App: "mf", Size: 2},
		"nowhere":             {App: "lda", Files: []string{"nowhere.txt"}},
		"clocks":              {App: "mlr", Size: 200, Settings: map[string]string{"clocks": "none"}},
	} {
		if _, err := o.Make(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: want %q in the error, got %v", o, want, err)
		}
	}
}
