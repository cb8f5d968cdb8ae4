package main

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestProfileWithoutPlantedBugs(t *testing.T) {
	t.Parallel()
	const source = `package lane

func f() {
	a()
	if planted.On("x") {
		b()
		c()
	}
	if ok && !planted.On("y") {
		d()
	}
	if ok && planted.On("z") {
		e()
	}
}
`
	tree := fstest.MapFS{"core/lane/lane.go": {Data: []byte(source)}}
	const name = "bellows/core/lane/lane.go:"
	profile := "mode: set\n" + name + "4.2,5.22 2 1\n" + name + "5.22,8.3 2 0\n" + name + "9.2,9.28 1 1\n" + name + "12.2,12.27 1 1\n" +
		name + "12.27,14.3 1 0\n" + name + "9.28,11.3 1 0\n"
	got, err := read(tree, profile)
	if err != nil {
		t.Fatal(err)
	}
	r := got["core/lane"]
	if len(got) != 1 || r == nil || r.statements != 5 || r.reached != 4 || !slices.Equal(r.missed, []string{"core/lane/lane.go:9"}) {
		t.Errorf("%+v, %+v", got, r)
	}
	if _, err := read(tree, "mode: set\n"+name+"4.2,x 2 1\n"); err == nil {
		t.Error("a line that is none was read")
	}
}

func TestFloors(t *testing.T) {
	t.Parallel()
	const text = "# for people\n\nclient 95\ncore/gate   80\nvec - kernels\n"
	all, err := readFloors(text)
	if err != nil {
		t.Fatal(err)
	}
	reached := map[string]*room{"client": {statements: 1000, reached: 949, missed: []string{"core/client/a.go:7"}}, "core/gate": {statements: 10, reached: 8}}
	var out strings.Builder
	got := printTable(&out, all, reached, true)
	if len(got) != 1 || !strings.HasPrefix(got[0], "client: the schedules reach 94.9 % of its statements, less than its floor of 95 %") {
		t.Errorf("%q", got)
	}
	if !strings.Contains(out.String(), "core/client/a.go:7\n") || strings.Contains(out.String(), "vec") {
		t.Error(out.String())
	}
	if got := printTable(&out, all, map[string]*room{"client": reached["client"]}, false); !slices.Contains(got, "core/gate has a floor, and the schedules do not play it.") {
		t.Errorf("%q", got)
	}
	for _, wrong := range []string{"client\n", "client 0\n", "client 101\n", "client -\n", "client 90\nclient 91\n"} {
		if _, err := readFloors(wrong); err == nil {
			t.Errorf("%q was read", wrong)
		}
	}
}
