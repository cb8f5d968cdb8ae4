package main

import (
	"fmt"
	"strconv"
	"strings"

	"bellows/bench/internal/pair"
	"bellows/bench/lab/internal/netns"
	"bellows/bench/lab/internal/validation"
)

// kinds returns the kinds that --only names; none: all.
func kinds(only string) ([]string, error) {
	words := strings.Split(only, ",")
	if words[0] != "real" {
		return nil, fmt.Errorf("--only %s: it must be real, or real and kinds, with commas", only)
	}
	return words[1:], nil
}

// validate holds the laboratory against real processes.
func (b *bench) validate() {
	cases := pair.Must(validation.Choose(pair.Must(kinds(b.only))))
	spaces := pair.Must(netns.Enter(validation.NodesMost))
	if spaces == nil {
		return // the program has run in the namespaces
	}
	b.Header("lab: predicted against real processes")
	const form = "%-10s %-26s %10s %21s %10s  %s"
	b.say("\n"+form, "kind", "figure", "measured", "(least to most)", "predicted", "ratio")
	for i := range cases {
		c := &cases[i]
		b.say("%s: %s", c.Name, c.Title)
		for _, r := range c.Run(spaces, b.Turns) {
			b.say(form, r.Kind, r.Figure, figure(r.Measured), "("+figure(r.Least)+" to "+figure(r.Most)+")", figure(r.Predicted), ratio(r))
			if b.JSON {
				b.Object(r)
			}
		}
	}
}

// figure returns a figure with its unit's digits.
func figure(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) }

// ratio returns predicted over measured, and whether it was fitted.
func ratio(r validation.Row) string {
	text := figure(r.Ratio)
	if r.Fitted {
		text += " fitted"
	}
	return text
}
