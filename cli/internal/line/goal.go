package line

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"bellows/app"
)

var goalForm = regexp.MustCompile(`^\s*([A-Za-z0-9_@]+)\s*(<=|>=)\s*(\S+)\s*$`)

// ParseGoal returns the goal that text states for an application as METRIC<=X or METRIC>=X, or nil for no text. A
// metric without train_ or test_ is that of the test rows.
func ParseGoal(text string, d app.Description) (*app.Goal, error) {
	if text == "" {
		return nil, nil
	}
	parts := goalForm.FindStringSubmatch(text)
	if parts == nil {
		return nil, BadFlag("until", text, "it must be METRIC<=X or METRIC>=X, such as '%s'", example(d.Metrics[len(d.Metrics)-1]))
	}
	name, known := parts[1], slices.Concat(d.Metrics, d.Other)
	if !slices.Contains(known, name) && slices.Contains(known, "test_"+name) {
		name = "test_" + name
	}
	if !slices.Contains(known, name) {
		suggestion := DidYouMean(strings.ToLower(name), known)
		if lower := strings.ToLower(name); slices.Contains(known, lower) || slices.Contains(known, "test_"+lower) {
			suggestion = "; names are lower case: write '" + lower + parts[2] + parts[3] + "'"
		}
		return nil, BadFlag("until", text, "%s has the metrics %s%s", d.Name, strings.Join(known, ", "), suggestion)
	}
	x, err := Finite(parts[3])
	if err != nil {
		return nil, BadFlag("until", text, "what follows %s must be a finite number, not %q", parts[2], parts[3])
	}
	below := parts[2] == "<="
	if falls, known := app.Falls(name); known && falls != below {
		way, turned := "falls", "<="
		if !falls {
			way, turned = "rises", ">="
		}
		return nil, BadFlag("until", text, "%s %s as a model gets better, so that this would end the run at its start; write '%s%s%s'", name, way, name, turned, parts[3])
	}
	if err := checkReach(text, name, below, x); err != nil {
		return nil, err
	}
	return &app.Goal{Metric: name, Below: below, Value: x}, nil
}

// checkReach refuses a goal that no model or every model reaches.
func checkReach(text, name string, below bool, x float64) error {
	low, high := bounds(name)
	never, always := x < low, x >= high && !math.IsInf(high, 1)
	if !below {
		never, always = x > high, x <= low && !math.IsInf(low, -1)
	}
	switch {
	case !never && !always:
		return nil
	case never && low == 0 && high == 1 && x <= 100:
		return BadFlag("until", text, "%s is from 0 to 1, and is never %g; if you mean %g %%, write '%s>=%g'", name, x, x, name, x/100)
	case never && math.IsInf(high, 1):
		return BadFlag("until", text, "%s is never below %g; write a goal that can be reached", name, low)
	case never:
		return BadFlag("until", text, "%s is never above %g; write a goal that can be reached", name, high)
	}
	return BadFlag("until", text, "every model reaches this; write a goal such as '%s'", example(name))
}

// bounds returns the least and the greatest value that a metric can have.
func bounds(name string) (low, high float64) {
	for _, part := range []string{"train_", "test_"} {
		name = strings.TrimPrefix(name, part)
	}
	switch name {
	case "accuracy", "auc", "f1", "ndcg_at_10":
		return 0, 1
	case "r2":
		return math.Inf(-1), 1
	case "loglik_per_token":
		return math.Inf(-1), 0
	case "rmse", "mae", "logloss", "loss", "gap":
		return 0, math.Inf(1)
	case "perplexity":
		return 1, math.Inf(1)
	}
	return math.Inf(-1), math.Inf(1)
}

// example returns a goal that a model may reach.
func example(name string) string {
	if falls, known := app.Falls(name); known && !falls {
		if _, high := bounds(name); high == 0 {
			return name + ">=-7"
		}
		return name + ">=0.9"
	}
	return name + "<=1"
}
