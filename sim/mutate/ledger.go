package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// result is a line of the results file: what became of a mutant when it was last run.
type result struct {
	Mutant  string  `json:"mutant"` // its id
	Verdict verdict `json:"verdict"`
	Why     string  `json:"why,omitempty"`
	State   string  `json:"state"` // of its package then
}

// ledger is the results file, which makes a run resumable: a line is added as soon as a mutant is judged.
type ledger struct {
	known map[string]result
	file  *os.File
}

func openLedger(name string) (*ledger, error) {
	l := &ledger{known: map[string]result{}}
	old, err := os.Open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		defer old.Close()
		for lines := bufio.NewScanner(old); lines.Scan(); {
			var r result
			if json.Unmarshal(lines.Bytes(), &r) == nil { // the last line may be half: the run was ended
				l.known[r.Mutant] = r
			}
		}
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return nil, err
	}
	l.file, err = os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	return l, err
}

// find returns what is known of a mutant of a package. What was killed stays so: tests are seldom taken away. Of what was not,
// only the package as it was then can tell.
func (l *ledger) find(m *mutant, p *pack) (result, bool) {
	r, ok := l.known[m.id()]
	return r, ok && r.Verdict != unclear && (r.Verdict == killed || r.State == p.state)
}

func (l *ledger) add(r result) error {
	l.known[r.Mutant] = r
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = l.file.Write(append(line, '\n'))
	return err
}

// explained is an entry of the file of accepted mutants.
type explained struct {
	verdict verdict // equivalent, or survived
	why     string
	diff    bool // the change stands with it
}

var (
	entryHead = regexp.MustCompile(`(?m)^## (.+)$`)
	entryText = regexp.MustCompile(`(?s)^\s*(Equivalent|Accepted): (.*?)\s*(?:$|\n\n|\n` + "```)")
)

// readAccepted reads the file of accepted mutants: under a heading with the mutant's name, "Equivalent: " or "Accepted: "
// with the reason, then for an equivalent one its diff.
func readAccepted(name string) (map[string]explained, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries := map[string]explained{}
	heads := entryHead.FindAllSubmatchIndex(text, -1)
	for i, h := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		id, body := string(text[h[2]:h[3]]), string(text[h[1]:end])
		m := entryText.FindStringSubmatch(body)
		if m == nil {
			return nil, fmt.Errorf("%s: %s: its text begins neither with \"Equivalent: \" nor with \"Accepted: \" and a reason", name, id)
		}
		e := explained{verdict: survived, why: strings.Join(strings.Fields(m[2]), " "), diff: strings.Contains(body, "```diff\n")}
		if m[1] == "Equivalent" {
			e.verdict = equivalent
			if !e.diff {
				return nil, fmt.Errorf("%s: %s: an equivalent mutant stands with its diff", name, id)
			}
		}
		entries[id] = e
	}
	return entries, nil
}

// stale returns the entries whose mutant the tree no longer offers.
func stale(root string, entries map[string]explained) (out []string) {
	offered := map[string]bool{}
	read := map[string]bool{}
	for id := range entries {
		file, _, _ := strings.Cut(id, ":")
		if read[file] {
			continue
		}
		read[file] = true
		source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			continue // the file is gone, and its mutants with it
		}
		found, err := mutants(file, source)
		if err != nil {
			continue
		}
		for _, m := range found {
			offered[m.id()] = true
		}
	}
	for id := range entries {
		if !offered[id] {
			out = append(out, id)
		}
	}
	return out
}
