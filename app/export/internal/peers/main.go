// Command peers compares `bellows predict` with what other programs predict from exported models. It trains models and
// exports them. The other programs are onnxruntime-web under Node, LIBLINEAR's predict, LIBMF's mf-predict, and NumPy.
// `./dev peers` calls it with what it installs. A program that is not there is left out, and named.
//
// It ends with code 1 where one of them predicts another label, or a number that is further than 1e-5 from ours (above 1: than 1e-5 of it).
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"bellows/app/export"
	"bellows/data"
	"bellows/model"
)

// within is how far a peer's number may be from ours.
const within = 1e-5

func main() {
	var p peers
	flag.StringVar(&p.bellows, "bellows", "bellows", "the program under test")
	flag.StringVar(&p.modules, "modules", "", "folder of node_modules with onnxruntime-web")
	flag.StringVar(&p.libmf, "libmf", "", "LIBMF's mf-predict")
	flag.StringVar(&p.liblinear, "liblinear", "liblinear-predict", "LIBLINEAR's predict")
	flag.StringVar(&p.python, "python", "python3", "a Python with NumPy")
	flag.StringVar(&p.work, "work", "", "folder for what is made, which must be empty")
	seed := flag.Uint64("seed", 1, "of the data")
	flag.Parse()
	if err := p.run(*seed); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

type peers struct {
	bellows, modules, libmf, liblinear, python, work string

	worst map[string]float64 // by peer: the largest distance from ours
	count map[string]int     // values that were compared
	wrong int                // values that are too far, and labels that are others
}

// trained is a case: a model, and what was predicted of its data.
type trained struct {
	name, app, file, dir string
	args                 []string
	model                *model.Model
	lines                [][]string
}

func (p *peers) run(seed uint64) error {
	p.worst, p.count = map[string]float64{}, map[string]int{}
	if p.work == "" {
		return errors.New("name an empty folder with --work")
	}
	var all []*trained
	for _, t := range cases(p.work, seed) {
		if err := p.train(t); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		all = append(all, t)
	}
	for _, part := range []struct {
		name, needs string
		compare     func([]*trained) error
	}{{"onnxruntime-web", p.modules, p.onnx}, {"LIBLINEAR", found(p.liblinear), p.liblinearAll}, {"LIBMF", found(p.libmf), p.libmfAll}, {"NumPy", found(p.python), p.numpyAll}} {
		if part.needs == "" {
			fmt.Printf("%-16s not there, left out\n", part.name)
			continue
		}
		if err := part.compare(all); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		fmt.Printf("%-16s %7d values, the furthest %.2g from ours\n", part.name, p.count[part.name], p.worst[part.name])
	}
	if p.wrong > 0 {
		return fmt.Errorf("%d values are not ours", p.wrong)
	}
	return nil
}

// found returns the path of a program, or nothing.
func found(program string) string {
	path, err := exec.LookPath(program)
	if err != nil {
		return ""
	}
	return path
}

// call runs a program in the folder of the work and returns what it prints.
func (p *peers) call(program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(context.Background(), program, args...)
	cmd.Dir = p.work
	var talk bytes.Buffer
	cmd.Stderr = &talk
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, talk.String())
	}
	return out, nil
}

// train makes the model, its files and its predictions.
func (p *peers) train(t *trained) error {
	t.dir = filepath.Join(p.work, t.name)
	if _, err := p.call(p.bellows, append([]string{"train", t.app, t.file, "--out", t.name}, t.args...)...); err != nil {
		return err
	}
	out, err := p.call(p.bellows, "predict", t.name, t.file)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(out)) {
		t.lines = append(t.lines, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	if t.model, err = model.Open(t.dir); err != nil {
		return err
	}
	for _, format := range export.Formats(t.model) {
		if _, err := p.call(p.bellows, "model", "export", t.name, "--format", format); err != nil {
			return err
		}
	}
	return nil
}

// number compares a number of a peer with one of ours.
func (p *peers) number(peer string, t *trained, row int, got float64, want string) error {
	ours, err := strconv.ParseFloat(want, 64)
	if err != nil {
		return err
	}
	distance := math.Abs(got-ours) / max(1, math.Abs(ours))
	p.count[peer]++
	p.worst[peer] = max(p.worst[peer], distance)
	if !(distance <= within) {
		p.refuse("%s, %s, row %d: %g, and predict says %s", peer, t.name, row, got, want)
	}
	return nil
}

func (p *peers) label(peer string, t *trained, row int, got, want string) {
	p.count[peer]++
	if got != want {
		p.refuse("%s, %s, row %d: label %s, and predict says %s", peer, t.name, row, got, want)
	}
}

func (p *peers) refuse(format string, args ...any) {
	if p.wrong++; p.wrong <= 10 {
		fmt.Printf(format+"\n", args...)
	}
}

// input is a tensor for run.mjs, and output one from it.
type input struct {
	Type string    `json:"type"`
	Dims []int     `json:"dims"`
	Data []float64 `json:"data"`
}

// rows reads the data as the model does.
func (t *trained) rows(dir string, kind data.Kind) (*data.Set, error) {
	as, err := data.ParseReading(t.model.Input)
	if err != nil {
		return nil, err
	}
	opt := data.Options{As: as, Unlabelled: true}
	if f, err := export.FeaturesOf(t.model); err != nil {
		return nil, err
	} else if f != nil {
		opt.Features, opt.IndexBase = f.Width, strconv.Itoa(f.Base)
	}
	return data.Read(context.Background(), []string{filepath.Join(dir, t.file)}, kind, opt)
}

// feeds returns the inputs of the graph.
func (t *trained) feeds(dir string) (map[string]input, error) {
	if t.app == "mf" {
		set, err := t.rows(dir, data.Ratings)
		if err != nil {
			return nil, err
		}
		user, item := set.Ratings.IndicesIn(&data.RatingSet{Users: t.model.Names("users.txt"), Items: t.model.Names("items.txt")})
		return map[string]input{"user": whole(user), "item": whole(item)}, nil
	}
	set, err := t.rows(dir, data.Examples)
	if err != nil {
		return nil, err
	}
	e := set.Examples
	x := input{"float32", []int{e.Rows(), e.Features}, make([]float64, e.Rows()*e.Features)}
	for i, v := range e.Dense {
		x.Data[i] = float64(v)
	}
	for r := range e.Rows() {
		for k := 0; e.Sparse() && k < int(e.Offset[r+1]-e.Offset[r]); k++ {
			at := int(e.Offset[r]) + k
			x.Data[r*e.Features+int(e.Index[at])] = float64(e.Value[at])
		}
	}
	return map[string]input{"features": x}, nil
}

func whole(list []int32) input {
	x := input{"int64", []int{len(list)}, nil}
	for _, i := range list {
		x.Data = append(x.Data, float64(i))
	}
	return x
}

func (p *peers) onnx(all []*trained) error {
	type job struct {
		Model  string           `json:"model"`
		Inputs map[string]input `json:"inputs"`
	}
	var jobs []job
	for _, t := range all {
		feeds, err := t.feeds(p.work)
		if err != nil {
			return err
		}
		jobs = append(jobs, job{filepath.Join(p.work, t.name+".onnx"), feeds})
	}
	text, err := json.Marshal(jobs)
	if err != nil {
		return err
	}
	for name, b := range map[string][]byte{"jobs.json": text, "run.mjs": script} {
		if err := os.WriteFile(filepath.Join(p.work, name), b, 0o666); err != nil {
			return err
		}
	}
	out, err := p.call("node", "run.mjs", p.modules, "jobs.json")
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(all) {
		return fmt.Errorf("%d lines for %d graphs", len(lines), len(all))
	}
	for i, t := range all {
		if err := p.graph(t, lines[i]); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}

// graph compares the outputs of one graph.
func (p *peers) graph(t *trained, line string) error {
	const peer = "onnxruntime-web"
	var outputs map[string]struct{ Data []any }
	if err := json.Unmarshal([]byte(line), &outputs); err != nil {
		return err
	}
	labels, values := outputs["label"].Data, []any(nil)
	for _, name := range []string{"prediction", "probabilities", "score", "rating"} {
		values = append(values, outputs[name].Data...)
	}
	for r, fields := range t.lines {
		if labels != nil {
			p.label(peer, t, r, labels[r].(string), fields[0])
			fields = fields[1:]
		}
		if len(values) != len(fields)*len(t.lines) {
			return fmt.Errorf("%d values for %d rows", len(values), len(t.lines))
		}
		for k, want := range fields {
			if err := p.number(peer, t, r, values[r*len(fields)+k].(float64), want); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *peers) liblinearAll(all []*trained) error {
	for _, t := range all {
		if t.app == "mf" {
			continue
		}
		feeds, err := t.feeds(p.work)
		if err != nil {
			return err
		}
		x, rows := feeds["features"], bytes.Buffer{}
		for r := range x.Dims[0] {
			rows.WriteByte('0')
			for j := range x.Dims[1] {
				if v := x.Data[r*x.Dims[1]+j]; v != 0 {
					fmt.Fprintf(&rows, " %d:%s", j+1, strconv.FormatFloat(v, 'g', -1, 32))
				}
			}
			rows.WriteByte('\n')
		}
		if err := os.WriteFile(filepath.Join(p.work, "rows.liblinear"), rows.Bytes(), 0o666); err != nil {
			return err
		}
		text, err := os.ReadFile(filepath.Join(p.work, t.name+".liblinear"))
		if err != nil {
			return err
		}
		args := []string{"rows.liblinear", t.name + ".liblinear", "said"}
		chances := bytes.HasPrefix(text, []byte("solver_type L2R_LR\n"))
		if chances {
			args = append([]string{"-b", "1"}, args...)
		}
		if _, err := p.call(p.liblinear, args...); err != nil {
			return err
		}
		if err := p.said(t, chances); err != nil {
			return err
		}
	}
	return nil
}

// said compares the lines written by LIBLINEAR: with probabilities after a line of labels.
func (p *peers) said(t *trained, chances bool) error {
	const peer = "LIBLINEAR"
	out, err := os.ReadFile(filepath.Join(p.work, "said"))
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if chances {
		lines = lines[1:]
	}
	labels := t.model.Names("labels.txt")
	for r, fields := range t.lines {
		words := strings.Fields(lines[r])
		got, err := strconv.ParseFloat(words[0], 64)
		if err != nil {
			return err
		}
		if labels == nil {
			if err := p.number(peer, t, r, got, fields[0]); err != nil {
				return err
			}
			continue
		}
		text := words[0]
		if _, err := strconv.Atoi(labels[0]); err != nil { // labels of text are their lines
			text = labels[int(got)]
		}
		p.label(peer, t, r, text, fields[0])
		for k := 1; chances && k < 3; k++ { // its first is the second of ours
			got, err := strconv.ParseFloat(words[3-k], 64)
			if err != nil {
				return err
			}
			if err := p.number(peer, t, r, got, fields[k]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *peers) libmfAll(all []*trained) error {
	for _, t := range all {
		if t.app != "mf" {
			continue
		}
		pairs, err := os.ReadFile(filepath.Join(p.work, t.file))
		if err != nil {
			return err
		}
		if t.name == "ratings-named" {
			feeds, err := t.feeds(p.work)
			if err != nil {
				return err
			}
			pairs = nil
			for r, u := range feeds["user"].Data {
				pairs = fmt.Appendf(pairs, "%g %g 0\n", u, feeds["item"].Data[r])
			}
		}
		if err := os.WriteFile(filepath.Join(p.work, "pairs.libmf"), pairs, 0o666); err != nil {
			return err
		}
		if _, err := p.call(p.libmf, "pairs.libmf", t.name+".libmf", "said"); err != nil {
			return err
		}
		out, err := os.ReadFile(filepath.Join(p.work, "said"))
		if err != nil {
			return err
		}
		for r, word := range strings.Fields(string(out)) {
			got, err := strconv.ParseFloat(word, 64)
			if err != nil {
				return err
			}
			if err := p.number("LIBMF", t, r, got, t.lines[r][0]); err != nil {
				return err
			}
		}
	}
	return nil
}

// numpyAll computes with the arrays of the archives what the models mean.
func (p *peers) numpyAll(all []*trained) error {
	const program = `
import json, sys, numpy as np
for job in json.load(open("jobs.json")):
    z = np.load(job["model"][:-5] + ".npz", allow_pickle=False)
    x = {k: np.array(v["data"], v["type"]).reshape(v["dims"]) for k, v in job["inputs"].items()}
    if "features" in x:
        s = x["features"].astype(float) @ z["weights"].astype(float).T + z["bias"]
        out = s[np.arange(len(s)), s.argmax(1)] if s.ndim == 2 else s
        if s.ndim == 2:
            out = 1 / np.exp(s - s.max(1, keepdims=True)).sum(1)
        elif "labels" in z:
            details = json.loads(str(z["about"]))["details"]
            if "calibration" in details:
                s = s * details["calibration"]["slope"] + details["calibration"]["offset"]
            chances = "calibration" in details or details["loss"] == "logistic"
            out = 1 / (1 + np.exp(-s)) if chances else s
    else:
        u, i = x["user"], x["item"]
        out = (z["user_factors"][u] * z["item_factors"][i]).sum(1) + z["user_bias"][u] + z["item_bias"][i] + z["mean"]
    print(" ".join(repr(float(v)) for v in out))
`
	if _, err := os.Stat(filepath.Join(p.work, "jobs.json")); err != nil {
		return errors.New("it is asked what onnxruntime-web is; name --modules")
	}
	out, err := p.call(p.python, "-c", program)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for i, t := range all {
		for r, word := range strings.Fields(lines[i]) {
			got, err := strconv.ParseFloat(word, 64)
			if err != nil {
				return err
			}
			want := t.lines[r][len(t.lines[r])-1]
			if w := t.model.Tensor("weights"); w != nil && len(w.Shape) == 2 { // the largest probability
				for c, label := range t.model.Names("labels.txt") {
					if label == t.lines[r][0] {
						want = t.lines[r][1+c]
					}
				}
			}
			if err := p.number("NumPy", t, r, got, want); err != nil {
				return err
			}
		}
	}
	return nil
}

// cases writes the data of each case and says how it is trained.
func cases(dir string, seed uint64) (list []*trained) {
	r := rand.New(rand.NewPCG(seed, 0x70656572))
	add := func(name, app, file, text string, args ...string) {
		if text != "" {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
				fmt.Fprintln(os.Stderr, "peers:", err)
				os.Exit(1)
			}
		}
		list = append(list, &trained{name: name, app: app, file: file, args: args})
	}
	add("kinds", "mlr", "kinds.csv", spreadsheet(r, "kind", func(x []float64) string {
		return []string{"low", "middle", "high"}[min(2, max(0, int(1.5+x[0]-x[1])))]
	}), "--label", "kind", "--epochs", "10")
	add("prices", "linear", "prices.csv", spreadsheet(r, "price", func(x []float64) string { return fmt.Sprintf("%.3f", 50+3*x[0]-2*x[2]+r.NormFloat64()) }), "--label", "price")
	for _, loss := range []string{"huber", "insensitive"} {
		add(loss, "linear", "prices.csv", "", "--label", "price", "--set", "loss="+loss)
	}
	add("signs", "linear", "signs.svm", sparse(r, 2))
	for _, loss := range []string{"hinge", "squared_hinge"} {
		add(loss, "linear", "signs.svm", "", "--set", "loss="+loss)
	}
	add("calibrated", "linear", "signs.svm", "", "--set", "loss=hinge", "--set", "calibrate=platt")
	add("softmax", "linear", "kinds.csv", "", "--label", "kind", "--epochs", "10", "--set", "loss=softmax")
	add("softmax-two", "mlr", "signs.svm", "", "--epochs", "10")
	add("many", "mlr", "many.svm", sparse(r, 40), "--epochs", "5")
	add("ratings", "mf", "ratings.tsv", ratings(r, ""), "--epochs", "8")
	add("ratings-named", "mf", "named.tsv", ratings(r, "u"), "--epochs", "8", "--set", "rank=7")
	return list
}

const rowsEach = 2000

// spreadsheet returns a CSV of numbers of very different sizes and a column of text, with a label that a function of
// the numbers in even sizes gives.
func spreadsheet(r *rand.Rand, label string, of func(x []float64) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s,small,plain,large,town\n", label)
	for range rowsEach {
		x := []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
		fmt.Fprintf(&b, "%s,%.6f,%.4f,%.2f,%s\n", of(x), x[0]/1000, x[1], 5000+1000*x[2], []string{"york", "bath", "hull"}[r.IntN(3)])
	}
	return b.String()
}

// sparse returns LIBSVM rows with 20 of 200 features in each.
func sparse(r *rand.Rand, classes int) string {
	var b strings.Builder
	const features, each = 200, 20
	for range rowsEach {
		var entries strings.Builder
		sum := 0.0
		for j := range features {
			if r.IntN(features) < each {
				v := r.NormFloat64()
				fmt.Fprintf(&entries, " %d:%.5f", j+1, v)
				sum += v * math.Sin(float64(j))
			}
		}
		class := int(math.Abs(sum)*4) % classes
		if classes == 2 {
			class = -1
			if sum > 0 {
				class = 1
			}
		}
		fmt.Fprintf(&b, "%d%s\n", class, entries.String())
	}
	return b.String()
}

// ratings returns triples of 300 users and 200 items with prefixed names.
func ratings(r *rand.Rand, prefix string) string {
	var b strings.Builder
	for u := range 300 {
		for i := range 200 {
			if r.IntN(8) == 0 {
				fmt.Fprintf(&b, "%s%d\t%d\t%.1f\n", prefix, u, i, 3+math.Sin(float64(u*i))+r.NormFloat64()/4)
			}
		}
	}
	return b.String()
}
