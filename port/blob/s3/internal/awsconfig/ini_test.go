package awsconfig

import (
	"maps"
	"strings"
	"testing"

	"bellows/internal/require"
)

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := parse("\ufeff# profiles\r\n[default]\r\nRegion = eu-west-1 # near\r\naws_secret_access_key=a/b+c=#;\n\n[profile work]\nservices = lab\ns3 =\n  addressing_style = path\n" +
		"\tmax = 1\nregion=x\n [ services lab ] ; ours\ns3 =\n  endpoint_url = http://lab:9000\n[default]\noutput = json\n")
	require.NoError(t, err)
	want := sections{
		"default":      {"region": "eu-west-1", "aws_secret_access_key": "a/b+c=#;", "output": "json"},
		"profile work": {"services": "lab", "s3": "", "s3.addressing_style": "path", "s3.max": "1", "region": "x"},
		"services lab": {"s3": "", "s3.endpoint_url": "http://lab:9000"},
	}
	if !maps.EqualFunc(got, want, maps.Equal) {
		t.Errorf("parsed as %v", got)
	}
	for text, why := range map[string]string{"region = x": "line 1: a setting stands before", "\n[": "line 2: a section", "[]": "line 1: a section", "[a]\nregion": "line 2: a setting is written",
		"[a]\n= b": "line 2: a setting is written"} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzParse holds that no text makes the parser panic, that keys and values are trimmed, and that an error names a line of the text.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"[default]\nregion = a", "[a]\ns3 =\n b = c\n", "[a", "x", "[a]\n=\n", "; c\n[a] # d\nk = v ;w"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		found, err := parse(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "line ") {
				t.Error(err)
			}
			return
		}
		for name, section := range found {
			for key, value := range section {
				if name == "" || key == "" || strings.ContainsAny(key+value, "\n") || strings.TrimSpace(value) != value {
					t.Errorf("section %q: %q = %q", name, key, value)
				}
			}
		}
	})
}
