package app

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"bellows"
)

// Auto is the value of a setting that lets the application choose.
const Auto = "auto"

// ParseSettings reads settings from a text of entries with blank lines between them. The first line of an entry is
// NAME=DEFAULT and the Reason; the lines after it are the Details, which are one paragraph.
func ParseSettings(text string) (list []Setting) {
	for entry := range strings.SplitSeq(text, "\n\n") {
		first, details, _ := strings.Cut(entry, "\n")
		setting, reason, _ := strings.Cut(first, " ")
		name, value, _ := strings.Cut(setting, "=")
		list = append(list, Setting{name, value, strings.TrimSpace(reason), strings.Join(strings.Fields(details), " ")})
	}
	return list
}

// Values are the settings of one run: what was given, and defaults for the rest.
//
// The order of calls: Resolve, then one typed getter per setting, then Err. A getter that finds
// its value unusable notes why and returns zero, so that Err tells everything that is wrong at
// once. Copies share their state; one goroutine at a time uses them.
type Values struct {
	app    string
	text   map[string]string
	given  map[string]string
	faults *[]string
}

// Resolve holds what was given against the settings that the application describes, and fills in
// the defaults. A name that the application does not have is an error that names the nearest one.
func Resolve(d Description, given map[string]string) (Values, error) {
	v := Values{app: d.Name, text: make(map[string]string, len(d.Settings)), given: given, faults: new([]string)}
	names := make([]string, 0, len(d.Settings))
	for _, s := range d.Settings {
		v.text[s.Name] = s.Default
		names = append(names, s.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, known := v.text[name]; !known {
			v.fault(name, "is no setting of this application: %s", suggest(name, names))
			continue
		}
		v.text[name] = strings.TrimSpace(given[name])
	}
	return v, v.Err()
}

// Map returns every setting with its value, in a new map.
func (v Values) Map() map[string]string { return maps.Clone(v.text) }

// IsAuto reports whether the application is to choose the value.
func (v Values) IsAuto(name string) bool { return v.must(name) == Auto }

// Settle records the value that the application chose, so that Map includes it.
func (v Values) Settle(name, value string) {
	v.must(name)
	v.text[name] = value
}

// Int returns the value as a whole number from low to high.
func (v Values) Int(name string, low, high int) int {
	n, err := strconv.Atoi(v.must(name))
	if err != nil || n < low || n > high {
		v.fault(name, "must be a whole number from %d to %d", low, high)
		return 0
	}
	return n
}

// Text returns the value as it is, without blanks around it.
func (v Values) Text(name string) string { return v.must(name) }

// IntOrAuto returns Int, and 0 where the application is to choose.
func (v Values) IntOrAuto(name string, low, high int) int {
	if v.IsAuto(name) {
		return 0
	}
	return v.Int(name, low, high)
}

// Float returns the value as a number from low to high, both included.
func (v Values) Float(name string, low, high float64) float64 {
	x, err := strconv.ParseFloat(v.must(name), 64)
	if err != nil || math.IsNaN(x) || x < low || x > high {
		v.fault(name, "must be a number from %g to %g", low, high)
		return 0
	}
	return x
}

// Bool returns the value as a truth: true or false, on or off, yes or no, 1 or 0.
func (v Values) Bool(name string) bool {
	switch strings.ToLower(v.must(name)) {
	case "true", "on", "yes", "1":
		return true
	case "false", "off", "no", "0":
		return false
	}
	v.fault(name, "must be true or false")
	return false
}

// Choice returns the value as one of the words allowed.
func (v Values) Choice(name string, allowed ...string) string {
	value := v.must(name)
	if slices.Contains(allowed, value) {
		return value
	}
	v.fault(name, "must be one of %s", strings.Join(allowed, ", "))
	return ""
}

// Refuse notes that the value is unusable for a reason that the application knows.
func (v Values) Refuse(name, format string, args ...any) {
	v.must(name)
	v.fault(name, format, args...)
}

// Err returns everything that was found wrong so far, each with the setting, its value and what is allowed, or nil. Its
// kind is bellows.Config; the program adds how to get help.
func (v Values) Err() error {
	if len(*v.faults) == 0 {
		return nil
	}
	return bellows.Errorf(bellows.Config, "set", v.app, "%s", strings.Join(*v.faults, "; "))
}

// must returns the text of a setting; asking for one that is not described is a bug of the application.
func (v Values) must(name string) string {
	text, ok := v.text[name]
	if !ok {
		panic(fmt.Sprintf("application %s does not describe the setting %q that it reads", v.app, name))
	}
	return text
}

func (v Values) fault(name, format string, args ...any) {
	value, ok := v.text[name]
	if !ok {
		value = v.given[name]
	}
	*v.faults = append(*v.faults, fmt.Sprintf("%s=%s: %s", name, value, fmt.Sprintf(format, args...)))
}

// suggest names the known word nearest to a mistyped one, or all of them when none is near.
func suggest(name string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return "it has " + strings.Join(known, ", ")
}
