package lines

import (
	"bytes"
	"strconv"
	"strings"
)

// Separators are the common separators, in the order in which they are tried on a first line. " " stands for runs of
// blanks.
var Separators = []struct{ Text, Name string }{
	{"\t", "tab"}, {"::", "::"}, {",", "comma"}, {";", "semicolon"}, {" ", "space"},
}

// SeparatorName returns the name of a separator for the screen.
func SeparatorName(text string) string {
	for _, s := range Separators {
		if s.Text == text {
			return s.Name
		}
	}
	return strconv.Quote(text)
}

// SeparatorOf returns the separator that an option means, by its name or literally. Its error is an *Error.
func SeparatorOf(option string) (string, error) {
	for _, s := range Separators {
		if option == s.Name || option == s.Text {
			return s.Text, nil
		}
	}
	if option == `\t` {
		return "\t", nil
	}
	if len(option) == 1 && option[0] > ' ' && option[0] < 0x7f && !strings.Contains(`"+-.`, option) && !IsDigits([]byte(option)) {
		return option, nil
	}
	return "", &Error{File: "separator " + strconv.Quote(option), What: "cannot separate fields", How: "use tab, comma, semicolon, space, :: or one punctuation character"}
}

// SeparatorOption returns a separator as SeparatorOf takes it, by its name if it has one.
func SeparatorOption(text string) string {
	for _, s := range Separators {
		if s.Text == text {
			return s.Name
		}
	}
	return text
}

// Propose chooses the separator of a first line. For triples it is the first that makes three or four fields of the
// line, else the first that occurs. Semicolons come before commas that can be decimal commas, at most one per field.
func Propose(line []byte, triples bool) string {
	for _, s := range Separators {
		fields, f := Fields(line, s.Text)
		if triples && f == nil && (len(fields) == 3 || len(fields) == 4) {
			return s.Text
		}
	}
	semicolons, commas := bytes.Count(line, []byte(";")), bytes.Count(line, []byte(","))
	for _, s := range Separators {
		switch {
		case s.Text == "::" && !triples, !bytes.Contains(line, []byte(s.Text)):
		case s.Text == "," && semicolons > 0 && semicolons+1 >= commas:
		default:
			return s.Text
		}
	}
	return " "
}
