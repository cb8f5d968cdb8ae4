package models

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"

	"bellows"
	"bellows/cli/internal/line"
	"bellows/data"
	"bellows/model"
)

// Bounds of a vocabulary: a line, its names, and the names of one feature that are shown.
const (
	vocabularyLine  = 16 << 20
	vocabularyMost  = 1 << 23
	vocabularyAlike = 8
)

// qualified is a feature's name and its namespace, "" for that without a name.
type qualified struct{ namespace, name string }

// String is the name as Vowpal Wabbit's own tools write it.
func (q qualified) String() string {
	if q.namespace == "" {
		return q.name
	}
	return q.namespace + "^" + q.name
}

// recover finds the names of the vocabulary by the numbers of their features, as package data reads them: a name is put into a row of its own.
func (s *showing) recover(ctx context.Context, dir string, m *model.Model, features bool) (map[int32][]string, error) {
	wrong := func(format string, args ...any) error {
		return line.BadFlag("vocabulary", s.vocabulary, format, args...).Hinted("leave it out")
	}
	if !features {
		return nil, wrong("a model of %s has no weights of features", m.App)
	}
	var as *data.Reading
	if len(m.Input) > 0 {
		var err error
		if as, err = data.ParseReading(m.Input); err != nil {
			return nil, refuse(bellows.BadData, "open model", dir, "its input is not one of this version: %w", err).Hinted("train the model again")
		}
	}
	if as == nil || as.HashBits == 0 {
		return nil, wrong("the features of %s were not hashed", dir)
	}
	names, err := s.names(as)
	if err != nil {
		return nil, err
	}
	var rows bytes.Buffer
	for _, q := range names {
		fmt.Fprintf(&rows, "|%s %s\n", q.namespace, q.name)
	}
	set, err := data.Read(ctx, []string{"-"}, data.Examples, data.Options{Format: data.VW, HashBits: as.HashBits, Unlabelled: true, Stdin: &rows})
	if err != nil {
		return nil, refuse(bellows.BadData, "read vocabulary", s.vocabulary, "%w", err)
	}
	defer set.Close()
	found := map[int32][]string{}
	for r, q := range names {
		for _, j := range set.Examples.Index[set.Examples.Offset[r]:set.Examples.Offset[r+1]] {
			if len(found[j]) < vocabularyAlike {
				found[j] = append(found[j], q.String())
			}
		}
	}
	return found, nil
}

// names reads the file: rows of Vowpal Wabbit where a line has a bar, else a name a line. Namespaces that the model leaves out have no names.
func (s *showing) names(as *data.Reading) (list []qualified, err error) {
	f, err := os.Open(s.vocabulary)
	if err != nil {
		return nil, &bellows.Error{Kind: bellows.NoInput, Op: "read vocabulary", Subject: s.vocabulary, Err: bellows.Pathless(err), Hint: "name a file of names with --vocabulary"}
	}
	defer f.Close()
	ignored := map[string]bool{}
	for _, c := range as.Ignored {
		ignored[c.Name] = true
	}
	seen := map[qualified]bool{}
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 1<<16), vocabularyLine)
	number := 0
	bad := func(format string, args ...any) error {
		return refuse(bellows.BadData, "read vocabulary", fmt.Sprintf("%s:%d", s.vocabulary, number), format, args...).Hinted("write Vowpal Wabbit text, or a name a line, as name or namespace^name")
	}
	for lines.Scan() {
		number++
		for _, q := range namesIn(lines.Text()) {
			if q.name == "" || strings.ContainsAny(q.name+q.namespace, " \t:|") || bytes.ContainsFunc([]byte(q.name+q.namespace), func(r rune) bool { return r < ' ' }) {
				return nil, bad("%.80q is no name of a feature", q.String())
			}
			if !seen[q] && !ignored[q.namespace] {
				if seen[q] = true; len(list) == vocabularyMost {
					return nil, bad("it has more than %d names", vocabularyMost)
				}
				list = append(list, q)
			}
		}
	}
	if err := lines.Err(); err != nil {
		number++
		return nil, bad("the line cannot be read: %w", err)
	}
	if len(list) == 0 {
		number = 1
		return nil, bad("it has no names")
	}
	return list, nil
}

// namesIn is the names of a line.
func namesIn(text string) (list []qualified) {
	text = strings.TrimSuffix(text, "\r")
	_, rest, row := strings.Cut(text, "|")
	if !row {
		if text = strings.TrimSpace(text); text == "" {
			return nil
		}
		namespace, name, two := strings.Cut(text, "^")
		if !two {
			namespace, name = "", text
		}
		return []qualified{{namespace, name}}
	}
	for part := range strings.SplitSeq(rest, "|") {
		words, namespace := strings.Fields(part), ""
		if len(words) > 0 && !strings.HasPrefix(part, " ") && !strings.HasPrefix(part, "\t") {
			namespace, _, _ = strings.Cut(words[0], ":")
			words = words[1:]
		}
		for _, w := range words {
			name, _, _ := strings.Cut(w, ":")
			list = append(list, qualified{namespace, name})
		}
	}
	return list
}
