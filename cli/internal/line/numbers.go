package line

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"

	"github.com/spf13/pflag"
)

// Numbers of flags are checked here, whether the command line, the environment or a file gives them. A whole number is
// decimal digits: package pflag alone takes 010 for 8 and 1_0 for 10. No number and no time is below 0 unless the default
// is, or below what AtLeast says. Numbers within the text of a flag are parsed by Finite.

// refusal is why a flag does not take a number, in words for its user.
type refusal string

func (r refusal) Error() string { return string(r) }

// leastOf names the annotation of a flag that AtLeast sets.
const leastOf = "bellows-least"

// AtLeast makes a flag that takes a whole number refuse smaller ones. remedy says what to do instead, such as "leave it out".
func AtLeast(f *pflag.FlagSet, name string, least int, remedy string) {
	if err := f.SetAnnotation(name, leastOf, []string{strconv.Itoa(least), remedy}); err != nil {
		panic(err) // the flag is declared by the caller
	}
}

// digits is how a whole number is written.
var digits = regexp.MustCompile(`^[+-]?(0|[1-9][0-9]*)$`)

// number is the value of a flag that is a whole number or a time, with its checks.
type number struct {
	pflag.Value
	least  int64
	remedy string
}

// Set takes a value that passes the checks.
func (n *number) Set(text string) error {
	if n.Type() == "duration" {
		if d, err := time.ParseDuration(text); err == nil && d < 0 {
			return refusal("it must not be below 0")
		}
		return n.Value.Set(text)
	}
	if !digits.MatchString(text) {
		return refusal(wanted[n.Type()])
	}
	if v, err := strconv.ParseInt(text, 10, 64); err == nil && v < n.least {
		if n.least == 0 {
			return refusal(wanted["uint64"])
		}
		return refusal(fmt.Sprintf("it must be at least %d%s", n.least, n.remedy))
	}
	return n.Value.Set(text)
}

// checkNumbers lays the checks over all flags of a set that are whole numbers or times.
func checkNumbers(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		switch f.Value.Type() {
		case "int", "int64", "uint64", "duration":
		default:
			return
		}
		if _, laid := f.Value.(*number); laid { // of a command above this one
			return
		}
		n := &number{Value: f.Value}
		if v, err := strconv.ParseInt(f.DefValue, 10, 64); err == nil && v < 0 {
			n.least = v
		}
		if least := f.Annotations[leastOf]; least != nil {
			n.least, _ = strconv.ParseInt(least[0], 10, 64)
			n.remedy = "; " + least[1]
		}
		f.Value = n
	})
}

// Finite parses a number within the text of a flag. It refuses infinities and what is no number, which no score reaches.
func Finite(text string) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("%q is not a finite number", text)
	}
	return x, nil
}
