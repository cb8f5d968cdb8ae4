package sets

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
)

// Ratings makes a pair of rating files from a seed: products of eight hidden factors with noise, on users and items of
// uneven popularity. One rating in ten is in the test file.
func (s *Shelf) Ratings(users, items, ratings int) Pair {
	const hidden = 8
	r := rand.New(rand.NewPCG(11, 12))
	p, q := normal(r, users*hidden, 0.6), normal(r, items*hidden, 0.6)
	line := func(w *bufio.Writer) {
		// The square makes the first ids several times as popular as the last.
		u, i := int(float64(users)*square(r)), int(float64(items)*square(r))
		v := 3 + 0.8*r.NormFloat64()
		for k := range hidden {
			v += p[u*hidden+k] * q[i*hidden+k]
		}
		fmt.Fprintf(w, "%d\t%d\t%.1f\n", u, i, min(5, max(1, v)))
	}
	name := "generated-" + strconv.Itoa(ratings)
	made := Pair{Name: name, Origin: fmt.Sprintf("%s: no --data, so %d x %d ratings made from a seed", name, users, items)}
	return made.fill(ratings, ratings/10, func(part string, n int) string {
		return s.write(name+"."+part+".tsv", func(w *bufio.Writer) {
			for range n {
				line(w)
			}
		})
	})
}

// fill makes both files, of so many rows each.
func (p Pair) fill(train, test int, file func(part string, n int) string) Pair {
	p.Train, p.Test = file("train", train), file("test", test)
	return p
}

// Images makes a pair of IDX files with their labels from a seed: ten classes, each a blurred pattern with noise.
func (s *Shelf) Images(train, test, side int) Pair {
	const classes = 10
	r := rand.New(rand.NewPCG(13, 14))
	pattern := normal(r, classes*side*side, 40)
	for i, v := range pattern {
		pattern[i] = max(0, v)
	}
	p := Pair{Name: "generated-images", Origin: fmt.Sprintf("generated-images: no --data, so %d images made from a seed", train)}
	return p.fill(train, test, func(part string, n int) string {
		stem := map[string]string{"train": "train", "test": "t10k"}[part] // as MNIST's are called
		label := make([]byte, n)
		for i := range label {
			label[i] = byte(r.IntN(classes))
		}
		s.write(stem+"-labels-idx1-ubyte", func(w *bufio.Writer) {
			idx(w, n)
			w.Write(label)
		})
		return s.write(stem+"-images-idx3-ubyte", func(w *bufio.Writer) {
			idx(w, n, side, side)
			for _, c := range label {
				for _, v := range pattern[int(c)*side*side : (int(c)+1)*side*side] {
					w.WriteByte(byte(min(255, max(0, v+60*r.NormFloat64()))))
				}
			}
		})
	})
}

// idx writes the header of an IDX file of unsigned bytes.
func idx(w *bufio.Writer, dims ...int) {
	w.Write([]byte{0, 0, 8, byte(len(dims))})
	for _, d := range dims {
		binary.Write(w, binary.BigEndian, uint32(d))
	}
}

// Documents makes a pair of LIBSVM files from a seed: bags of words in twenty classes, each class with its own words
// among many common ones, rows of length 1 as tf-idf has them.
func (s *Shelf) Documents(train, test, features int) Pair {
	const classes, words = 20, 60
	r := rand.New(rand.NewPCG(15, 16))
	p := Pair{Name: "generated-documents", Origin: fmt.Sprintf("generated-documents: no --data, so %d documents made from a seed", train)}
	return p.fill(train, test, func(part string, n int) string {
		return s.write("documents."+part+".libsvm", func(w *bufio.Writer) {
			for range n {
				document(w, r, r.IntN(classes), classes, words, features)
			}
		})
	})
}

// document writes one row. A word in eight belongs to the class.
func document(w *bufio.Writer, r *rand.Rand, class, classes, words, features int) {
	count := map[int]float64{}
	for range words {
		f := int(float64(features) * square(r))
		if r.IntN(8) == 0 {
			f = f/classes*classes + class
		}
		count[min(f, features-1)]++
	}
	var sum float64
	for _, c := range count {
		sum += c * c
	}
	fmt.Fprint(w, class)
	for f := range features {
		if c, ok := count[f]; ok {
			fmt.Fprintf(w, " %d:%.4f", f+1, c/math.Sqrt(sum))
		}
	}
	w.WriteByte('\n')
}

func square(r *rand.Rand) float64 {
	x := r.Float64()
	return x * x
}

func normal(r *rand.Rand, n int, deviation float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = deviation * r.NormFloat64()
	}
	return x
}

// Numbers makes a CSV file of a label and some columns of numbers from a seed; it has no test file.
func (s *Shelf) Numbers(rows, columns int) Pair {
	r := rand.New(rand.NewPCG(17, 18))
	path := s.write("numbers.train.csv", func(w *bufio.Writer) {
		for range rows {
			fmt.Fprintf(w, "%d", r.IntN(2))
			for range columns {
				fmt.Fprintf(w, ",%.4f", r.NormFloat64())
			}
			w.WriteByte('\n')
		}
	})
	return Pair{Name: "numbers", Train: path, Origin: fmt.Sprintf("numbers: %d rows made from a seed", rows)}
}

// Mixed makes a pair of LIBSVM files of dense rows from a seed: labels drawn from a softmax model, whose weights are
// strong or weak alternately by seed, on features of different units, each correlated with its predecessor.
func (s *Shelf) Mixed(seed uint64, train, test, features, classes int) Pair {
	r := rand.New(rand.NewPCG(19, seed))
	strength := []float64{0.5, 1, 2, 4}[seed%4] / math.Sqrt(float64(features))
	weights := normal(r, features*classes, strength)
	unit, offset := normal(r, features, 1), normal(r, features, 3)
	name := fmt.Sprintf("mixed-%d", seed)
	p := Pair{Name: name, Origin: fmt.Sprintf("%s: %d x %d rows of %d classes made from a seed", name, train, features, classes)}
	return p.fill(train, test, func(part string, n int) string {
		return s.write(name+"."+part+".libsvm", func(w *bufio.Writer) {
			x, score := make([]float64, features), make([]float64, classes)
			for range n {
				clear(score)
				before := r.NormFloat64()
				for j := range x {
					before = 0.5*before + math.Sqrt(0.75)*r.NormFloat64()
					x[j] = before
					for c := range score {
						score[c] += before * weights[j*classes+c]
					}
				}
				fmt.Fprint(w, drawn(r, score))
				for j, v := range x {
					fmt.Fprintf(w, " %d:%.5g", j+1, offset[j]+v*math.Exp(unit[j]))
				}
				w.WriteByte('\n')
			}
		})
	})
}

// drawn returns a class drawn with the probabilities that scores come to.
func drawn(r *rand.Rand, score []float64) int {
	at, most := 0, math.Inf(-1)
	for c, z := range score { // the largest of scores with Gumbel noise is drawn so
		if v := z - math.Log(r.ExpFloat64()); v > most {
			at, most = c, v
		}
	}
	return at
}

// Bags makes a bag of words from a seed, of so many documents with about so many tokens each: a document mixes three of a hundred topics, of sixty words
// each, with words that all documents share. It has no test file.
func (s *Shelf) Bags(documents, words, tokens int) Pair {
	const topics, own = 100, 60
	r := rand.New(rand.NewPCG(21, 22))
	skewed := func(n int) int { return int(float64(n) * square(r)) }
	var home [topics][own]int
	for k := range home {
		for i := range home[k] {
			home[k][i] = skewed(words)
		}
	}
	type entry struct{ document, word, count int }
	var entries []entry
	count := make([]int, words)
	for d := range documents {
		mixed := [...]int{skewed(topics), skewed(topics), skewed(topics)}
		for range tokens/2 + r.IntN(tokens) {
			w := home[mixed[skewed(len(mixed))]][skewed(own)]
			if r.IntN(5) == 0 {
				w = skewed(words)
			}
			count[w]++
		}
		for w, n := range count {
			if n > 0 {
				entries = append(entries, entry{d + 1, w + 1, n})
				count[w] = 0
			}
		}
	}
	path := s.write("docword.generated.txt", func(w *bufio.Writer) {
		fmt.Fprintf(w, "%d\n%d\n%d\n", documents, words, len(entries))
		for _, e := range entries {
			fmt.Fprintf(w, "%d %d %d\n", e.document, e.word, e.count)
		}
	})
	return Pair{Name: "bags", Train: path, Origin: fmt.Sprintf("bags: %d documents of about %d tokens made from a seed", documents, tokens)}
}
