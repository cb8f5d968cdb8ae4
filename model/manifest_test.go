package model

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
)

// listing returns a manifest of one tensor file and whatever the change makes of it.
func listing(change func(*manifest)) manifest {
	m := manifest{App: "mf", Files: []File{
		{Name: tensorsFile, Bytes: 10, SHA256: noSum},
		{Name: "users.txt", Bytes: 4, SHA256: noSum, IDs: 2},
	}}
	change(&m)
	return m
}

func TestParseManifestRefuses(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*manifest){
		`lists the file "../etc/passwd"`:     func(m *manifest) { m.Files[1].Name = "../etc/passwd" },
		`lists the file "manifest.json"`:     func(m *manifest) { m.Files[1].Name = manifestFile },
		`lists the file "users.txt"`:         func(m *manifest) { m.Files = append(m.Files, m.Files[1]) },
		"users.txt with -1 bytes":            func(m *manifest) { m.Files[1].Bytes = -1 },
		"with 4 bytes and 5 ids":             func(m *manifest) { m.Files[1].IDs = 5 },
		"lists users.txt without a checksum": func(m *manifest) { m.Files[1].SHA256 = "abc" },
		"must name an application":           func(m *manifest) { m.App = "" },
		"as its files model.safetensors":     func(m *manifest) { m.Files = m.Files[1:] },
	} {
		text, err := listing(change).encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseManifest(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, and should say %q", err, want)
		}
	}
}

// summed gives a text its checksum.
func summed(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return []byte(strings.Replace(text, noSum, hex.EncodeToString(sum[:]), 1))
}

func TestParseManifestRefusesText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                                      "it is not JSON",
		`[]`:                                    "it is not JSON",
		`{"format":"bellows model 3"}`:          `its format is "bellows model 3"`,
		`{"format":"bellows model 1","code":1}`: `unknown field "code"`,
		`{"format":"bellows model 1"}`:          "no checksum",
		`{"format":"bellows model 1","sha256":"` + noSum + `"}`:                 "does not have the checksum",
		string(summed(`{"format":"bellows model 1","sha256":"` + noSum + `"}`)): "must name an application",
	} {
		if _, err := parseManifest([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, and should say %q", text, err, want)
		}
	}
}

// FuzzParseManifest wants every accepted manifest to be as Save could have written it.
func FuzzParseManifest(f *testing.F) {
	text, err := listing(func(*manifest) {}).encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(summed(`{"format":"bellows model 1","app":"a","files":[{"name":"model.safetensors","bytes":0,"sha256":"` +
		strings.Repeat("a", 64) + `"}],"sha256":"` + noSum + `"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, text := range [][]byte{in, summed(string(in))} {
			m, err := parseManifest(text)
			if err != nil {
				continue
			}
			for _, file := range m.Files {
				if strings.ContainsAny(file.Name, "/\\\x00") || file.Bytes < 0 {
					t.Fatalf("a file %+v was accepted", file)
				}
			}
			out, err := m.encode()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := parseManifest(out); err != nil {
				t.Fatalf("what was written is refused: %v\n%s", err, out)
			}
			if bytes.Count(out, []byte(m.SHA256)) > 1 {
				t.Fatal("the old sum is still in the text")
			}
		}
	})
}

// FuzzParseNames wants names to survive the way to the disk and back, whatever is in them.
func FuzzParseNames(f *testing.F) {
	f.Add("a\x00b", "two\nlines", true)
	f.Add("", "\r", false)
	f.Fuzz(func(t *testing.T, a, b string, quoted bool) {
		names := []string{a, b}
		var out bytes.Buffer
		quote := needsQuotes(names)
		if err := writeNames(&out, names, quote); err != nil {
			t.Fatal(err)
		}
		got, err := parseNames(out.String(), 2, quote)
		if err != nil || got[0] != a || got[1] != b {
			t.Fatalf("%q came back as %q, %v", names, got, err)
		}
		if got, err := parseNames(a, strings.Count(a, "\n"), quoted); err == nil && len(got) != strings.Count(a, "\n") {
			t.Fatalf("%q gave %d names", a, len(got))
		}
	})
}
