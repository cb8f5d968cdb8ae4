package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/klauspost/compress/zstd"
)

// lay writes a file, an hour old: what is read from one that was just written is not kept for the next run.
func lay(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text, 0o666); err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-time.Hour)
	if err := os.Chtimes(name, then, then); err != nil {
		t.Fatal(err)
	}
}

// makeFile carries out the text after `make`: a file made of other ones, or of a pattern. SOURCE is an existing file.
//
//	NAME crlf|cr|bom|unended|gzip|zstd|utf16|latin1|svm|svm0 SOURCE
//	NAME bytes "TEXT"                  with escapes as in Go
//	NAME repeat N "TEXT"
//	NAME head N SOURCE                 its first bytes
//	NAME cat SOURCE...
//	NAME with "OLD" "NEW" SOURCE       each OLD replaced
//	NAME table N SEPARATOR COLUMN...   a table of N rows; a COLUMN is NAME:KIND (cell), where the first is named - there is no header, and ~ is no name
//	NAME folder, NAME link TARGET, NAME copy FOLDER
func makeFile(t *testing.T, line string) {
	t.Helper()
	words := quotedText.FindAllString(line, -1)
	for i, w := range words {
		if w[0] == '"' {
			text, err := strconv.Unquote(w)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			words[i] = text
		}
	}
	name, kind, args := words[0], words[1], words[2:]
	switch kind {
	case "folder":
		check(t, os.MkdirAll(name, 0o777))
	case "link":
		check(t, os.Symlink(args[0], name))
	case "copy":
		check(t, os.CopyFS(name, os.DirFS(args[0])))
	case "pipe":
		check(t, syscall.Mkfifo(name, 0o600))
		text := source(t, args[0])
		go func() { _ = os.WriteFile(name, text, 0) }() // until it was read
	default:
		lay(t, name, made(t, kind, args))
	}
}

// made returns the bytes of a file that is made.
func made(t *testing.T, kind string, args []string) []byte {
	t.Helper()
	switch kind {
	case "bytes":
		return []byte(args[0])
	case "repeat":
		return bytes.Repeat([]byte(args[1]), number(t, args[0]))
	case "head":
		return source(t, args[1])[:number(t, args[0])]
	case "with":
		return bytes.ReplaceAll(source(t, args[2]), []byte(args[0]), []byte(args[1]))
	case "table":
		return pattern(t, number(t, args[0]), args[1], args[2:])
	case "cat":
		var all []byte
		for _, name := range args {
			all = append(all, source(t, name)...)
		}
		return all
	}
	text := source(t, args[0])
	switch kind {
	case "crlf":
		return bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	case "cr":
		return bytes.ReplaceAll(text, []byte("\n"), []byte("\r"))
	case "bom":
		return append([]byte("\xef\xbb\xbf"), text...)
	case "unended":
		return bytes.TrimSuffix(text, []byte("\n"))
	case "gzip":
		return []byte(packed(string(text)))
	case "svm", "svm0":
		return sparse(text, map[string]int{"svm": 1, "svm0": 0}[kind])
	case "zstd":
		z, err := zstd.NewWriter(nil)
		check(t, err)
		defer z.Close()
		return z.EncodeAll(text, nil)
	case "utf16":
		wide := []byte("\xff\xfe")
		for _, u := range utf16.Encode([]rune(string(text))) {
			wide = append(wide, byte(u), byte(u>>8))
		}
		return wide
	case "latin1":
		var narrow []byte
		for _, r := range string(text) {
			narrow = append(narrow, byte(r))
		}
		return narrow
	}
	t.Fatalf("no way to make a file is called %s", kind)
	return nil
}

// sparse returns a plain CSV with a label in the first column as LIBSVM, its indices from base.
func sparse(table []byte, base int) []byte {
	var b strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(string(table)), "\n")[1:] {
		fields := strings.Split(line, ",")
		b.WriteString(fields[0])
		for i, v := range fields[1:] {
			fmt.Fprintf(&b, " %d:%s", i+base, v)
		}
		b.WriteString("\n")
	}
	return []byte(b.String())
}

// separators are those of patterns, by name.
var separators = map[string]string{"comma": ",", "tab": "\t", "semicolon": ";", "pipe": "|", "space": " ", "colons": "::", "bag": "\n"}

// pattern returns a table of so many rows.
func pattern(t *testing.T, rows int, separator string, columns []string) []byte {
	t.Helper()
	sep, ok := separators[separator]
	if !ok {
		t.Fatalf("no separator is called %s", separator)
	}
	var b strings.Builder
	names, kinds := make([]string, len(columns)), make([]string, len(columns))
	for i, c := range columns {
		names[i], kinds[i], _ = strings.Cut(c, ":")
		names[i] = strings.TrimPrefix(names[i], "~")
	}
	if names[0] != "-" {
		b.WriteString(strings.Join(names, sep) + "\n")
	}
	for r := range rows {
		cells := make([]string, len(kinds))
		for i, kind := range kinds {
			cells[i] = cell(t, kind, r)
		}
		b.WriteString(strings.Join(cells, sep) + "\n")
	}
	return []byte(b.String())
}

// cell returns what a column of a kind has in a row. Rows are of the classes 0 and 1 in turns, and of eight users and
// six items in any mixture:
//
//	class=A/B      the class by its name
//	signal         far from 0 in rows of class 1
//	noise          says nothing
//	id, time       counts the rows, from 1 and from 900000000
//	is=TEXT        the same in all rows
//	pick=A/B/C     one of some, whatever the class
//	tells=A/B      one of two, as the class
//	falls          10 less twice what signal has
//	gaps=TEXT      signal, and TEXT in every seventh row
//	user=u, item=i, userid, itemid, rating        a rating from 1 to 5 that user and item have made
//	once           a word that no other row has
//	real           a number with a fraction that no other row has
func cell(t *testing.T, kind string, r int) string {
	t.Helper()
	kind, of, _ := strings.Cut(kind, "=")
	choices := strings.Split(of, "/")
	class, user, item := r%2, r/6%8, r%6
	switch kind {
	case "class", "tells":
		return choices[class]
	case "signal":
		return fmt.Sprintf("%.2f", float64(class)*4+float64(r*37%100)/100)
	case "falls":
		return fmt.Sprintf("%.2f", 10-2*(float64(class)*4+float64(r*37%100)/100))
	case "gaps":
		if r%7 == 3 {
			return of
		}
		return cell(t, "signal", r)
	case "noise":
		return fmt.Sprintf("%.2f", float64(r*53%97)/97)
	case "id":
		return strconv.Itoa(r + 1)
	case "time":
		return strconv.Itoa(900000000 + r)
	case "is":
		return of
	case "pick":
		return choices[r*5%7%len(choices)]
	case "user", "item":
		return of + strconv.Itoa(map[string]int{"user": user, "item": item}[kind])
	case "userid":
		return strconv.Itoa(1000 + user)
	case "itemid":
		return strconv.Itoa(500 + item)
	case "rating":
		return strconv.Itoa(1 + (user%2*2+item%3)%5)
	case "once":
		return fmt.Sprintf("w%dx", r*7919%100003)
	case "real":
		return fmt.Sprintf("%.3f", float64(r*7919%100003)/1000+0.5/1000)
	}
	t.Fatalf("no column is of kind %s", kind)
	return ""
}

func source(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	check(t, err)
	return text
}

func number(t *testing.T, word string) int {
	t.Helper()
	n, err := strconv.Atoi(word)
	check(t, err)
	return n
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
