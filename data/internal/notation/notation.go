// Package notation recognizes numbers that are not plain decimals: with percent signs, currencies, thousands
// separators, or other digits. It also recognizes numbers with invisible characters.
//
// The package reads no such number for its caller. A sign such as % may change the value, so a person decides.
package notation

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longest bounds the fields that are looked at, in bytes.
const longest = 64

var (
	plainForm     = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)
	fortranForm   = regexp.MustCompile(`^[+-]?(\d+\.\d*|\.\d+|\d+)[dD][+-]?\d+$`)
	powerForm     = regexp.MustCompile(`^([+-]?\d+(?:[.,]\d+)?) ?[x×*·] ?10\^?([+-]?\d+)$`)
	groupsForm    = regexp.MustCompile(`^[+-]?\d{1,3}(?: \d{3})+([.,]\d+)?$|^[+-]?\d{1,3}(?:'\d{3})+([.,]\d+)?$|^[+-]?\d{1,3}(?:_\d{3})+(\.\d+)?$`)
	commasForm    = regexp.MustCompile(`^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?([eE][+-]?\d+)?$|^[+-]?[1-9]\d?(,\d{2})*,\d{3}(\.\d+)?$`)
	dotsForm      = regexp.MustCompile(`^[+-]?\d{1,3}(\.\d{3})+,\d+$|^[+-]?\d{1,3}(\.\d{3}){2,}$`)
	commaForm     = regexp.MustCompile(`^[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?$`)
	currencyCodes = []string{"USD", "EUR", "GBP", "JPY", "CHF", "CNY", "INR", "AUD", "CAD", "SEK", "NOK", "DKK", "RUB",
		"BRL", "PLN", "CZK", "HUF", "KRW", "TRY", "MXN", "ZAR",
		"kr", "zł", "Kč", "Ft", "Fr."}
)

// Reasons why a field is no plain decimal, if it has a comma and is one without it.
const (
	Thousands    = "separators of thousands"
	DecimalComma = "a decimal comma"
)

// Recognize returns the plain decimal that a field means, and what keeps it from being one; how is "" where the field
// is a plain decimal or
// no number at all. A percent sign and a currency are left out of plain.
func Recognize(field []byte) (plain, how string) {
	if len(field) == 0 || len(field) > longest || !utf8.Valid(field) {
		return "", ""
	}
	text, notes := ascii(string(field))
	text, notes = bare(text, notes)
	if !strings.ContainsAny(text, "0123456789") {
		return "", ""
	}
	text, notes = grouped(text, notes)
	if len(notes) == 0 || !plainForm.MatchString(text) {
		return "", ""
	}
	return text, strings.Join(notes, " and ")
}

// ascii replaces digits, signs and blanks of other scripts by those of ASCII, and removes characters that have no
// width.
func ascii(field string) (text string, notes []string) {
	note := func(what string) {
		if !slices.Contains(notes, what) {
			notes = append(notes, what)
		}
	}
	var b strings.Builder
	for _, r := range field {
		switch digit, is := digitOf(r); {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case is:
			note("digits that are not 0 to 9")
			b.WriteByte(digit)
		case unicode.Is(unicode.Cf, r):
			note("a character without width, " + name(r))
		case strings.ContainsRune("−–‐‑‒—﹣－", r):
			note("a minus sign that is not -, " + name(r))
			b.WriteByte('-')
		case r == '＋':
			note("a plus sign that is not +, " + name(r))
			b.WriteByte('+')
		case unicode.IsSpace(r):
			note("a blank, " + name(r))
			b.WriteByte(' ')
		case r == '٫', r == '．':
			note("a decimal point that is not ., " + name(r))
			b.WriteByte('.')
		case r == '٬', r == '，':
			b.WriteByte(',')
		case r == '’', r == 'ʼ', r == '′':
			b.WriteByte('\'')
		case r == '٪', r == '％':
			b.WriteByte('%')
		default:
			b.WriteRune(r)
		}
	}
	return strings.TrimSpace(b.String()), notes
}

// digitOf returns the ASCII digit of a decimal digit of another script.
func digitOf(r rune) (byte, bool) {
	if r < utf8.RuneSelf || !unicode.Is(unicode.Nd, r) {
		return 0, false
	}
	for _, in := range unicode.Nd.R16 { // every range begins with a zero
		if r >= rune(in.Lo) && r <= rune(in.Hi) {
			return '0' + byte((r-rune(in.Lo))%10), true
		}
	}
	for _, in := range unicode.Nd.R32 {
		if r >= rune(in.Lo) && r <= rune(in.Hi) {
			return '0' + byte((r-rune(in.Lo))%10), true
		}
	}
	return 0, false
}

// name returns the code point of a character.
func name(r rune) string { return "U+" + strings.ToUpper(strconv.FormatInt(int64(r)|1<<16, 16)[1:]) }

// bare removes a percent sign, a currency and the brackets of a negative amount, and puts a minus sign at the end in
// front.
func bare(text string, notes []string) (string, []string) {
	if inner, found := strings.CutPrefix(text, "("); found && strings.HasSuffix(inner, ")") {
		text, notes = "-"+strings.TrimSuffix(inner, ")"), append(notes, "brackets")
	}
	if inner, found := strings.CutSuffix(text, "-"); found && !strings.HasPrefix(text, "-") {
		text, notes = "-"+strings.TrimSpace(inner), append(notes, "a minus sign at the end")
	}
	if inner, found := strings.CutPrefix(text, "'"); found {
		text, notes = inner, append(notes, "an apostrophe in front")
	}
	for _, sign := range []string{"%", "‰"} {
		if trimmed := strings.TrimSuffix(strings.TrimPrefix(text, sign), sign); trimmed != text {
			what := "a percent sign"
			if sign != "%" {
				what = "a per mille sign"
			}
			return strings.TrimSpace(trimmed), append(notes, what)
		}
	}
	sign := ""
	rest := text
	if strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, "+") {
		sign, rest = rest[:1], strings.TrimSpace(rest[1:])
	}
	if amount, found := withoutCurrency(rest); found {
		return sign + amount, append(notes, "a currency")
	}
	return text, notes
}

// withoutCurrency removes a currency before or after an amount.
func withoutCurrency(text string) (amount string, found bool) {
	for _, code := range currencyCodes {
		if amount, found = strings.CutPrefix(text, code); !found {
			amount, found = strings.CutSuffix(text, code)
		}
		if found {
			return strings.TrimSpace(amount), true
		}
	}
	at := strings.IndexFunc(text, func(r rune) bool { return unicode.Is(unicode.Sc, r) })
	if at < 0 {
		return text, false
	}
	_, size := utf8.DecodeRuneInString(text[at:])
	before, behind := strings.TrimSpace(text[:at]), strings.TrimSpace(text[at+size:])
	letters := len(before) <= 3 && strings.IndexFunc(before, func(r rune) bool { return !unicode.IsLetter(r) }) < 0
	switch {
	case letters && behind != "": // US$ 5
		return behind, true
	case behind == "":
		return before, true
	}
	return text, false
}

// grouped removes separators of thousands, and writes a decimal point and an exponent as a plain decimal has them.
func grouped(text string, notes []string) (string, []string) {
	switch {
	case groupsForm.MatchString(text):
		text = strings.Replace(strings.NewReplacer(" ", "", "'", "", "_", "").Replace(text), ",", ".", 1)
		return text, append(slices.DeleteFunc(notes, func(n string) bool { return strings.HasPrefix(n, "a blank") }),
			Thousands)
	case commasForm.MatchString(text):
		return strings.ReplaceAll(text, ",", ""), append(notes, Thousands)
	case dotsForm.MatchString(text):
		return strings.Replace(strings.ReplaceAll(text, ".", ""), ",", ".", 1), append(notes, Thousands)
	case commaForm.MatchString(text):
		return strings.TrimSuffix(strings.Replace(text, ",", ".", 1), "."), append(notes, DecimalComma)
	case fortranForm.MatchString(text) && strings.ContainsAny(text, ".+-"):
		return strings.NewReplacer("d", "e", "D", "e").Replace(text), append(notes, "an exponent behind D")
	}
	if parts := powerForm.FindStringSubmatch(text); parts != nil {
		return strings.Replace(parts[1], ",", ".", 1) + "e" + parts[2], append(notes, "a power of ten")
	}
	return text, notes
}
