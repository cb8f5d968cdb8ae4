package line

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// wanted are what the values of flags must be, by the names of their types.
var wanted = map[string]string{
	"int":      "it must be a whole number",
	"uint64":   "it must be a whole number, and not below 0",
	"bool":     "it must be true or false",
	"duration": "it must be a time with its unit, such as 500ms or 2s",
}

// unfit returns why a flag did not take a value, whatever layer it came from. Go's own message names Go functions.
func unfit(f *pflag.Flag, cause error) error {
	words, known := wanted[f.Value.Type()]
	var refused refusal
	switch {
	case errors.As(cause, &refused):
		return refused
	case errors.Is(cause, strconv.ErrRange):
		return errors.New("it is too large")
	case known:
		return errors.New(words)
	}
	return cause
}

// flagFault returns the error of a command line with flags that cannot be parsed, and a hint. If it has no better
// words, it returns the cause.
func flagFault(cause error) (hint string, err error) {
	var value *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(cause, &value):
		return "", fmt.Errorf("--%s=%s: %w", value.GetFlag().Name, value.GetValue(), unfit(value.GetFlag(), value.Unwrap()))
	case errors.As(cause, &missing):
		flag := missing.GetFlag()
		name, _ := pflag.UnquoteUsage(flag)
		if name == flag.Value.Type() {
			name = "value"
		}
		return fmt.Sprintf("write --%s %s", flag.Name, strings.ToUpper(name)), fmt.Errorf("--%s lacks its value", flag.Name)
	case errors.As(cause, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return "flags begin with two dashes and are words", fmt.Errorf("unknown flag: -%s", unknown.GetSpecifiedShortnames())
	}
	return "", cause
}
