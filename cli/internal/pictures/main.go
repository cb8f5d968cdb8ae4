//go:build linux

// Command pictures makes the pictures of README.md from a real run. It builds bellows, writes ratings made from a seed,
// and trains on them in a terminal of its own. It draws the screen of the terminal as an animated SVG. The curves next
// to it are of the same run.
//
//	go run ./cli/internal/pictures FOLDER
//
// writes recording.svg and loss.svg there. The layout depends on the commands alone; the figures depend on the machine
// and the moment. An escape sequence that its terminal does not know is an error.
package main

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"bellows/run/page"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "pictures: name the folder to write to")
		os.Exit(64)
	}
	if err := draw(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

// commands are what is recorded, in their order.
var commands = []string{
	"bellows train mf ratings.tsv --epochs 10",
	"bellows predict runs/mf-1 pairs.tsv",
	"bellows report runs/mf-1",
}

// The recording: how wide its terminal is, and how long it rests before and after a command.
const (
	columns = 104
	rest    = 900 * time.Millisecond
)

func draw(folder string) error {
	work, err := os.MkdirTemp("", "pictures-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	build := exec.Command("go", "build", "-o", filepath.Join(work, "bellows"), "./cmd/bellows")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build bellows: %w", err)
	}
	if err := writeRatings(work); err != nil {
		return err
	}
	t := newTerminal(columns)
	for i, command := range commands {
		t.at += rest
		t.prompt(command)
		t.at += rest
		if err := t.run(work, strings.Fields(command)); err != nil {
			return fmt.Errorf("command %d, %s: %w", i+1, command, err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "recording.svg"), []byte(t.svg()), 0o666); err != nil {
		return err
	}
	r, err := page.Read(filepath.Join(work, "runs", "mf-1"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "loss.svg"), []byte(r.Loss()), 0o666)
}

// The ratings: how many, of how many users and items, and the rank of what they are made of.
const (
	ratings, users, items, rank = 3_000_000, 30_000, 4_000, 6
	noise                       = 0.6
)

// writeRatings writes ratings of one to five stars by halves, made of factors and noise from a seed, and a few pairs to ask about.
func writeRatings(folder string) error {
	rng := rand.New(rand.NewPCG(1, 2))
	factors := func(n int) [][rank]float64 {
		list := make([][rank]float64, n)
		for i := range list {
			for k := range list[i] {
				list[i][k] = rng.NormFloat64() / math.Sqrt(math.Sqrt(rank))
			}
		}
		return list
	}
	u, v := factors(users), factors(items)
	var text strings.Builder
	for range ratings {
		a, b := int(users*rng.Float64()*rng.Float64()), int(items*rng.Float64()*rng.Float64())
		score := 3.4 + noise*rng.NormFloat64()
		for k := range rank {
			score += 0.8 * u[a][k] * v[b][k]
		}
		stars := math.Round(2*min(5, max(1, score))) / 2
		fmt.Fprintf(&text, "u%d\tm%d\t%g\n", a, b, stars)
	}
	if err := os.WriteFile(filepath.Join(folder, "ratings.tsv"), []byte(text.String()), 0o666); err != nil {
		return err
	}
	pairs := "u7\tm3\nu7\tm101\nu7\tm940\n"
	return os.WriteFile(filepath.Join(folder, "pairs.tsv"), []byte(pairs), 0o666)
}

// run runs a command of the folder in the terminal, and takes what it writes as it comes.
func (t *terminal) run(folder string, words []string) error {
	pty, tty, err := openTerminal(columns)
	if err != nil {
		return err
	}
	defer pty.Close()
	cmd := exec.Command(filepath.Join(folder, words[0]), words[1:]...)
	cmd.Args[0] = words[0] // as a shell that has it on its path
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = folder, tty, tty, tty
	cmd.Env = append(os.Environ(), "TERM=xterm", "PATH="+folder+":"+os.Getenv("PATH"), "XDG_CACHE_HOME="+filepath.Join(folder, ".cache"), "XDG_STATE_HOME="+filepath.Join(folder, ".state"))
	begun, began := t.at, time.Now()
	err = cmd.Start()
	tty.Close()
	if err != nil {
		return err
	}
	in := bufio.NewReader(pty)
	for {
		r, _, err := in.ReadRune()
		if err != nil { // the last process has let go of the terminal
			break
		}
		t.at = begun + time.Since(began)
		if err := t.take(r); err != nil {
			cmd.Process.Kill()
			cmd.Wait()
			return err
		}
	}
	return cmd.Wait()
}
