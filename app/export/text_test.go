package export_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"bellows/app/export"
)

// liblinear is a model as LIBLINEAR loads it.
type liblinear struct {
	solver  string
	classes int
	labels  []float64
	width   int
	weights [][]float64 // a line for each feature, the bias last
}

// readLinearText reads word by word, as load_model of LIBLINEAR does.
func readLinearText(t *testing.T, text []byte) (l liblinear) {
	t.Helper()
	words := strings.Fields(string(text))
	next := func() string { w := words[0]; words = words[1:]; return w }
	for key := next(); key != "w"; key = next() {
		switch key {
		case "solver_type":
			l.solver = next()
		case "nr_class":
			l.classes = int(number(t, next()))
		case "label":
			for range l.classes {
				l.labels = append(l.labels, number(t, next()))
			}
		case "nr_feature":
			l.width = int(number(t, next()))
		case "bias":
			if next() != "1" {
				t.Error("the bias is not 1")
			}
		default:
			t.Fatalf("LIBLINEAR does not know %q", key)
		}
	}
	rows := l.classes
	if l.classes == 2 && l.solver != "MCSVM_CS" {
		rows = 1
	}
	for range l.width + 1 {
		var line []float64
		for range rows {
			line = append(line, number(t, next()))
		}
		l.weights = append(l.weights, line)
	}
	if len(words) > 0 {
		t.Errorf("%d words are left over", len(words))
	}
	return l
}

// score returns what predict_values of LIBLINEAR computes: features beyond the model's are left out.
func (l *liblinear) score(row []float32) []float64 {
	sums := append([]float64(nil), l.weights[l.width]...)
	for j, x := range row[:min(len(row), l.width)] {
		for c := range sums {
			sums[c] += l.weights[j][c] * float64(x)
		}
	}
	return sums
}

// TestLinearTextPredictsTheSame reads the text as LIBLINEAR would, and predicts by its rule.
func TestLinearTextPredictsTheSame(t *testing.T) {
	t.Parallel()
	solvers := regexp.MustCompile(`^(L2R_LR|L2R_L2LOSS_SVC|L2R_L1LOSS_SVC_DUAL|MCSVM_CS|L2R_L2LOSS_SVR|L2R_L1LOSS_SVR_DUAL)$`)
	for _, m := range models() {
		if m.model.App == "mf" {
			continue
		}
		l := readLinearText(t, m.encoded(t, export.LIBLINEAR))
		labels := m.model.Names("labels.txt")
		if !solvers.MatchString(l.solver) || len(l.labels) != len(labels) {
			t.Errorf("%s: solver %s, labels %v", m.name, l.solver, l.labels)
		}
		for r, want := range m.predicted(t) {
			sums := l.score(m.vector(r))
			if labels == nil {
				if !near(sums[0], number(t, want[0])) {
					t.Errorf("%s, row %d: %g, and predict says %s", m.name, r, sums[0], want[0])
				}
				continue
			}
			best := 0
			for c := range sums {
				if sums[c] > sums[best] {
					best = c
				}
			}
			if len(sums) == 1 && sums[0] <= 0 {
				best = 1
			}
			got := fmt.Sprint(l.labels[best])
			if text := got; strings.HasPrefix(m.name, "softmax-wide") || m.name == "softmax" || m.name == "logistic-text" {
				got = labels[int(number(t, text))]
			}
			if got != want[0] {
				t.Errorf("%s, row %d: label %s, and predict says %s", m.name, r, got, want[0])
			}
			if l.solver == "L2R_LR" && !near(1/(1+math.Exp(-sums[0])), number(t, want[2])) {
				t.Errorf("%s, row %d: probability of score %g, and predict says %s", m.name, r, sums[0], want[2])
			}
		}
	}
}

// TestFactorTextPredictsTheSame reads the text as LIBMF's mf_load_model would: it predicts the same for known pairs,
// and the mean for others.
func TestFactorTextPredictsTheSame(t *testing.T) {
	t.Parallel()
	for _, m := range models() {
		if m.model.App != "mf" {
			continue
		}
		words := strings.Fields(string(m.encoded(t, export.LIBMF)))
		var head [5]float64
		for k, key := range []string{"f", "m", "n", "k", "b"} {
			if words[2*k] != key {
				t.Fatalf("%q stands where %s should", words[2*k], key)
			}
			head[k] = number(t, words[2*k+1])
		}
		words = words[10:]
		rank, rows := int(head[3]), map[string][]float64{}
		for ; len(words) > 0; words = words[2+rank:] {
			if words[1] == "T" {
				for _, w := range words[2 : 2+rank] {
					rows[words[0]] = append(rows[words[0]], number(t, w))
				}
			}
		}
		s, in := m.rows.Ratings, m.inputs()
		for r, want := range m.predicted(t) {
			p, q := fmt.Sprint("p", in[0].Ints[r]), fmt.Sprint("q", in[1].Ints[r])
			if m.name == "mf" { // its ids are LIBMF's numbers
				p, q = "p"+s.Users[s.User[r]], "q"+s.Items[s.Item[r]]
			}
			got := head[4]
			known := rows[p] != nil && rows[q] != nil
			if known {
				got = 0
				for k := range rank {
					got += rows[p][k] * rows[q][k]
				}
			}
			if known != (in[0].Ints[r] >= 0 && in[1].Ints[r] >= 0) {
				t.Errorf("%s, %s %s: known is %v", m.name, p, q, known)
			}
			if known && !near(got, number(t, want[0])) || !known && got != 3.5 {
				t.Errorf("%s, %s %s: %g, and predict says %s", m.name, p, q, got, want[0])
			}
		}
	}
}

// TestArchivesHoldTheTensors reads them back by the description of the npy format.
func TestArchivesHoldTheTensors(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^\{'descr': '([<|])([fiuU])(\d+)', 'fortran_order': False, 'shape': \(((?:\d+,(?: \d+,?)*)?)\), \} *\n$`)
	for _, m := range models() {
		text := m.encoded(t, export.NPZ)
		z, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
		if err != nil {
			t.Fatal(err)
		}
		found := map[string][]byte{}
		for _, member := range z.File {
			f, err := member.Open()
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(f)
			if err != nil || string(b[:8]) != "\x93NUMPY\x01\x00" {
				t.Fatalf("%s of %s is no npy: %v", member.Name, m.name, err)
			}
			size := int(binary.LittleEndian.Uint16(b[8:]))
			if !form.Match(b[10:10+size]) || (10+size)%64 != 0 {
				t.Errorf("%s of %s has the header %q", member.Name, m.name, b[10:10+size])
			}
			found[strings.TrimSuffix(member.Name, ".npy")] = b[10+size:]
			found["shape "+member.Name] = form.FindSubmatch(b[10 : 10+size])[4]
		}
		for _, tensor := range m.model.Tensors {
			if shape := strings.Trim(strings.ReplaceAll(fmt.Sprint(tensor.Shape), " ", ", "), "[]"); strings.TrimSuffix(string(found["shape "+tensor.Name+".npy"]), ",") != shape {
				t.Errorf("%s of %s has the shape %s, want %s", tensor.Name, m.name, found["shape "+tensor.Name+".npy"], shape)
			}
			var want bytes.Buffer
			if err := binary.Write(&want, binary.LittleEndian, tensor.Floats); err != nil || !bytes.Equal(found[tensor.Name], want.Bytes()) {
				t.Errorf("%s of %s is not as it was: %v", tensor.Name, m.name, err)
			}
		}
		for _, list := range m.model.IDs {
			b, back := found[strings.TrimSuffix(list.File, ".txt")], ""
			for width := len(b) / len(list.Names); len(b) > 0; b = b[width:] {
				for k := 0; k < width; k += 4 {
					if c := rune(binary.LittleEndian.Uint32(b[k:])); c != 0 {
						back += string(c)
					}
				}
				back += "\n"
			}
			if want := strings.Join(list.Names, "\n") + "\n"; back != want {
				t.Errorf("%s of %s is %q, want %q", list.File, m.name, back, want)
			}
		}
		if about := found["about"]; !bytes.HasPrefix(about, []byte("{\x00\x00\x00\"\x00\x00\x00a")) {
			t.Errorf("about of %s begins with %q", m.name, about[:min(12, len(about))])
		}
	}
}
