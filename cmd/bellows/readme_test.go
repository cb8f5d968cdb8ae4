package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bellows/cli/clitest"
)

var (
	readmeBlock   = regexp.MustCompile("(?ms)^```\n(.*?)^```")
	readmeCommand = regexp.MustCompile(`^(?:go run \./cmd/bellows|\./bellows) (.*)`)
)

// TestReadmeWalk runs the commands of README.md in their order, on files of the names that they mention. After the demo, commands must be
// about the reader's own model, which has other ratings and users than the demo.
func TestReadmeWalk(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	commands := 0
	for _, block := range readmeBlock.FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(block[1]) {
			m := readmeCommand.FindStringSubmatch(strings.TrimSpace(line))
			if m == nil {
				continue
			}
			commands++
			fmt.Fprintf(&script, "exec bellows %s\n", m[1])
			switch {
			case strings.HasPrefix(m[1], "train "):
				script.WriteString("stdout '^test .* · model runs/'\n")
			case strings.HasPrefix(m[1], "model show "):
				script.WriteString("stdout '^  user_factors +F32 .40 32.$'\n")
			case strings.HasPrefix(m[1], "eval "):
				script.WriteString("! stdout unknown\n! stderr unknown\nstdout '^rmse +0\\.'\n")
			case strings.HasPrefix(m[1], "predict "):
				script.WriteString("! stderr unknown\n")
			case strings.HasPrefix(m[1], "recommend "):
				script.WriteString("stdout '\\bi\\d+\\b'\n")
			}
		}
	}
	if commands < 9 {
		t.Fatalf("README.md has %d commands of bellows in its blocks, which cannot be all:\n%s", commands, script.String())
	}
	script.WriteString("grep '\"ratings.tsv\"' runs/mf-1/run.json\nexists runs/demo-mf-1/manifest.json\n")
	for name, content := range readmeFiles() {
		fmt.Fprintf(&script, "-- %s --\n%s", name, content)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "readme.txtar"), []byte(script.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	clitest.Run(t, "bellows", dir)
}

// readmeFiles returns small files of the names in README.md. Ratings are the product of a taste and a quality, so that a model of one factor predicts them.
func readmeFiles() map[string]string {
	var ratings, held, pairs, rows, test, house, bags strings.Builder
	for u := range 40 {
		for i := range 25 {
			to := &ratings
			if (u+i)%10 == 9 {
				to = &held
				fmt.Fprintf(&pairs, "u%d\ti%d\n", u, i)
			}
			fmt.Fprintf(to, "u%d\ti%d\t%.2f\n", u, i, 3+math.Sin(float64(u))+math.Cos(float64(i)))
		}
	}
	house.WriteString("area,rooms,price\n")
	for r := range 120 {
		x, y := math.Sin(float64(3*r)), math.Cos(float64(5*r))
		to := &rows
		if r%6 == 5 {
			to = &test
		}
		fmt.Fprintf(to, "%d 1:%.3f 2:%.3f\n", r%3, float64(r%3)+x/3, y)
		fmt.Fprintf(&house, "%.1f,%d,%.1f\n", 90+40*x, 1+r%5, 200+80*x+float64(9*(r%5)))
	}
	const documents, words = 40, 20
	fmt.Fprintf(&bags, "%d\n%d\n%d\n", documents, words, documents*8)
	for d := range documents {
		for w := range 8 {
			fmt.Fprintf(&bags, "%d %d %d\n", d+1, 1+(d%2)*10+(d/2+w)%10, 1+w%3)
		}
	}
	return map[string]string{"ratings.tsv": ratings.String(), "test.tsv": held.String(), "pairs.tsv": pairs.String(),
		"train.svm": rows.String(), "test.svm": test.String(), "house.csv": house.String(), "docword.news.txt": bags.String()}
}
