package verbs

import (
	"slices"
	"strings"
)

// remark says what about the data may not be as meant, and how the test file was read.
func (t *training) remark() {
	if t.inputs.choice != "" && !t.JSON {
		t.Talk("test: %s", t.inputs.choice)
	} else if t.inputs.test != nil && !t.JSON {
		t.Talk("test %s: %s", strings.Join(t.opt.test, " "), t.inputs.test.Detected)
	}
	for _, w := range slices.Concat(t.inputs.set.Detected.Warnings(), t.made.Warnings) {
		t.doubt("%s", w)
	}
}
