package clitest

import (
	"os"
	"strings"
	"testing"
)

// validateLine holds a line against the schema of a command of every program.
func validateLine(name, line string) error {
	text, err := os.ReadFile("../internal/verbs/schema/" + name + ".json")
	if err != nil {
		return err
	}
	schema, err := parse(text)
	if err != nil {
		return err
	}
	return validate(schema, line)
}

// TestValidatorRefuses keeps the check itself honest.
func TestValidatorRefuses(t *testing.T) {
	t.Parallel()
	good := `{"bellows":"1","revision":"","modified":false,"go":"go1","platform":"x","kernels":"go"}`
	if err := validateLine("version", good); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string][2]string{
		"missing":  {"version", `{"bellows":"1"}`},
		"unknown":  {"version", good[:len(good)-1] + `,"more":1}`},
		"type":     {"version", strings.Replace(good, `"go1"`, `1`, 1)},
		"enum":     {"doctor", `{"checks":[{"name":"a","status":"fine","found":"","todo":""}],"fails":0,"warns":0}`},
		"minimum":  {"doctor", `{"checks":[],"fails":-1,"warns":0}`},
		"whole":    {"doctor", `{"checks":[],"fails":0.5,"warns":0}`},
		"no form":  {"train", `{"kind":"epoch"}`},
		"pattern":  {"model-show", `{"model":"","app":"","settings":{},"metrics":{},"versions":{},"tensors":[],"ids":[],"files":[{"name":"a","bytes":1,"sha256":"ab"}]}`},
		"map":      {"eval", `{"model":"","app":"","data":[],"rows":1,"metrics":{"rmse":"1"},"seconds":0}`},
		"not JSON": {"eval", `rmse 1`},
	} {
		if validateLine(c[0], c[1]) == nil {
			t.Errorf("%s: %s was accepted", name, c[1])
		}
	}
}
