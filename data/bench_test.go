package data

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// benchBytes is about how much text each benchmark reads.
const benchBytes = 32 << 20

// benchText is one input to measure.
type benchText struct {
	name string
	kind Kind
	row  func(b *bytes.Buffer, rng *rand.Rand, i int)
	opt  Options
}

// write writes the text to a file and returns its size.
func (c benchText) write(b *testing.B, path string) int64 {
	b.Helper()
	rng := rand.New(rand.NewPCG(21, 22))
	text := bytes.NewBuffer(make([]byte, 0, benchBytes+1<<16))
	for i := 0; text.Len() < benchBytes; i++ {
		c.row(text, rng, i)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	return int64(text.Len())
}

// measure runs read and reports the text in MB for a second of CPU time.
func measure(b *testing.B, size int64, read func() error) {
	b.Helper()
	b.SetBytes(size)
	runs, before := 0, cpuSeconds()
	for b.Loop() {
		if err := read(); err != nil {
			b.Fatal(err)
		}
		runs++
	}
	if spent := cpuSeconds() - before; spent > 0 {
		b.ReportMetric(float64(size)*float64(runs)/spent/1e6, "MB/cpu-s")
	}
}

// benchTexts are inputs like real ones: tf-idf rows, one-hot rows, tables of
// measurements, movie ratings, ratings with ids that are words.
var benchTexts = []benchText{
	{"libsvm-tfidf", Examples, func(b *bytes.Buffer, rng *rand.Rand, i int) {
		fmt.Fprintf(b, "%d", i%20)
		for index := 1 + rng.IntN(300); index < 17_000; index += 1 + rng.IntN(300) {
			fmt.Fprintf(b, " %d:%.5g", index, rng.Float64()/3)
		}
		b.WriteByte('\n')
	}, Options{}},
	{"libsvm-onehot", Examples, func(b *bytes.Buffer, rng *rand.Rand, i int) {
		b.WriteString([]string{"-1", "+1"}[i%2])
		for index := 1 + rng.IntN(15); index < 124; index += 1 + rng.IntN(15) {
			fmt.Fprintf(b, " %d:1", index)
		}
		b.WriteByte('\n')
	}, Options{}},
	{"csv", Examples, func(b *bytes.Buffer, rng *rand.Rand, i int) {
		fmt.Fprintf(b, "%.5g", rng.NormFloat64())
		for range 16 {
			fmt.Fprintf(b, ",%.5g", rng.NormFloat64()*3)
		}
		b.WriteByte('\n')
	}, Options{}},
	{"triples", Ratings, func(b *bytes.Buffer, rng *rand.Rand, i int) {
		fmt.Fprintf(b, "%d\t%d\t%d\t%d\n", 1+i/165, 1+rng.IntN(3952), 1+rng.IntN(5), 956_703_932+rng.IntN(90_000_000))
	}, Options{}},
	{"triples-short", Ratings, func(b *bytes.Buffer, rng *rand.Rand, i int) {
		fmt.Fprintf(b, "%d\t%d\t%d\n", 1+i/165, 1+rng.IntN(3952), rng.IntN(2))
	}, Options{}},
	{"triples-words", Ratings, func(b *bytes.Buffer, rng *rand.Rand, i int) {
		fmt.Fprintf(b, "A%08XUS,B00%06X,%d.0,%d\n", i/20*2654435761%(1<<32), rng.IntN(30_000), 1+rng.IntN(5),
			956_703_932+rng.IntN(90_000_000))
	}, Options{}},
	{"vw", Examples, func(b *bytes.Buffer, rng *rand.Rand, i int) {
		fmt.Fprintf(b, "%d |user id_%d age:%.2f |words", 2*(i%2)-1, rng.IntN(5000), rng.Float64())
		benchWords(b, rng, 20+rng.IntN(40))
		fmt.Fprintf(b, " |numbers a:%.4g b:%.4g c:%.4g\n", rng.Float64(), rng.NormFloat64(), rng.NormFloat64())
	}, Options{}},
	{"text", Documents, benchDocument, Options{}},
	{"text-stops", Documents, benchDocument, Options{StopWords: English}},
	{"text-pairs", Documents, benchDocument, Options{Ngrams: 2}},
	{"jsonl-text", Documents, func(b *bytes.Buffer, rng *rand.Rand, i int) {
		fmt.Fprintf(b, `{"id": %d, "text": "`, i)
		benchWords(b, rng, 60+rng.IntN(80))
		b.WriteString("\"}\n")
	}, Options{}},
}

// benchDocument writes a line of words.
func benchDocument(b *bytes.Buffer, rng *rand.Rand, _ int) {
	benchWords(b, rng, 60+rng.IntN(80))
	b.WriteByte('\n')
}

// benchWords writes so many of 30,000 words, of which the first are the most frequent.
func benchWords(b *bytes.Buffer, rng *rand.Rand, n int) {
	for range n {
		b.WriteByte(' ')
		u := rng.Float64()
		for h := uint32(u*u*u*30_000)*2654435761 + 97; ; h /= 26 {
			if b.WriteByte('a' + byte(h%26)); h < 26*26*26 {
				break
			}
		}
	}
}

// BenchmarkRead reads whole files, page cache warm. MB/cpu-s is the figure for
// one core, whatever else the machine does.
func BenchmarkRead(b *testing.B) {
	for _, c := range benchTexts {
		b.Run(c.name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), c.name)
			measure(b, c.write(b, path), func() error {
				_, err := Read(context.Background(), []string{path}, c.kind, c.opt)
				return err
			})
		})
	}
}

// BenchmarkReadStored reads the same from stored columns, for the text they stand for.
func BenchmarkReadStored(b *testing.B) {
	for _, c := range benchTexts {
		b.Run(c.name, func(b *testing.B) {
			dir := b.TempDir()
			path := filepath.Join(dir, c.name)
			size := c.write(b, path)
			if err := os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
				b.Fatal(err)
			}
			opt := c.opt
			opt.Cache = filepath.Join(dir, "cache")
			if _, err := Read(context.Background(), []string{path}, c.kind, opt); err != nil {
				b.Fatal(err)
			}
			measure(b, size, func() error {
				s, err := Read(context.Background(), []string{path}, c.kind, opt)
				if err != nil {
					return err
				}
				if !s.Detected.FromCache {
					return fmt.Errorf("not stored: %s", s.Detected.CacheProblem)
				}
				return s.Close()
			})
		})
	}
}
