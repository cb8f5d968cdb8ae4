package blob

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"bellows"
)

// nameBytesMost is the longest name: of what a bucket allows (1,024 bytes) it leaves a quarter to the prefix that a store may have. A part may have
// partBytesMost, so that a file system has room for what marks unfinished files.
const (
	nameBytesMost = 768
	partBytesMost = 200
)

// CheckName refuses a name that some store could not have: parts between slashes, each of small letters, digits, "_",
// "=", "." and "-"; it begins with neither of the last two. File systems that ignore case, or that hide some files,
// handle such names.
func CheckName(name string) error {
	if len(name) > nameBytesMost || slices.ContainsFunc(strings.Split(name, "/"), badPart) {
		return bellows.Errorf(bellows.Bug, "name blob", bellows.Printable(name, nameBytesMost),
			"it is not of at most %d bytes, in parts of at most %d: small letters, digits, _ = . -", nameBytesMost, partBytesMost)
	}
	return nil
}

// badPart reports whether a store could refuse a part of a name.
func badPart(part string) bool {
	return part == "" || len(part) > partBytesMost || part[0] == '.' || part[0] == '-' || strings.ContainsFunc(part, func(r rune) bool { return !strings.ContainsRune(partBytes, r) })
}

// partBytes are the characters of a part.
const partBytes = "abcdefghijklmnopqrstuvwxyz0123456789_=.-"

// foreignBytesMost is the longest name that any store gives.
const foreignBytesMost = 1024

// CheckForeign refuses a name that other programs cannot have given to an input: an empty or too long name, one that is
// not UTF-8 or has unprintable characters, or one that ends with a slash, which denotes a folder.
func CheckForeign(name string) error {
	if name == "" || len(name) > foreignBytesMost || !utf8.ValidString(name) || strings.HasSuffix(name, "/") || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return bellows.Errorf(bellows.NoInput, "name blob", bellows.Printable(name, foreignBytesMost), "no object that is read is called so").Hinted("name one by letters that print, without a slash at its end")
	}
	return nil
}
