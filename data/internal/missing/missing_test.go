package missing

import "testing"

// TestRuleByKind compares what each rule says of fields of each kind of column.
func TestRuleByKind(t *testing.T) {
	for _, c := range []struct {
		name             string
		rule             *Rule
		field            string
		number, text, id bool
	}{
		{"default", nil, "NA", true, true, true},
		{"default", New(nil), `\N`, true, true, true},
		{"default", New(nil), "", true, true, true},
		{"default", New(nil), "Nan", false, false, false},
		{"none", New([]string{}), "NA", true, false, false},
		{"none", New([]string{}), "", true, true, true},
		{"words", New([]string{"-", "-999"}), "-", true, true, true},
		{"words", New([]string{"-", "-999"}), "-999", true, true, true},
		{"words", New([]string{"-", "-999"}), "-999.0", true, false, false},
		{"words", New([]string{"-", "-999"}), "None", true, false, false},
		{"old", Old(), "NULL", true, true, false},
		{"old", Old(), `\N`, true, false, false},
		{"old", Old(), "", true, true, true},
	} {
		f := []byte(c.field)
		if c.rule.Number(f) != c.number || c.rule.Text(f) != c.text || c.rule.ID(f) != c.id {
			t.Errorf("%s: %q: number %v, text %v, id %v", c.name, c.field, c.rule.Number(f), c.rule.Text(f),
				c.rule.ID(f))
		}
	}
}

// TestWordsAreDefaults checks that the list that is shown is the list that is used.
func TestWordsAreDefaults(t *testing.T) {
	for _, w := range Words {
		if len(w) > longest || !New(nil).Text([]byte(w)) {
			t.Errorf("%q is listed, and is no default", w)
		}
	}
}
