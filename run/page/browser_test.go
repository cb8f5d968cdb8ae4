//go:build browser

package page

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// look is a page that shows another in a frame, measures it when it is there, and writes down what is wrong with it.
const look = `<!doctype html><meta charset="utf-8"><pre id="said">not measured</pre>
<iframe id="f" src="/page" style="border:0" width="%d" height="900"></iframe>
<script>
const frame = document.getElementById("f");
frame.onload = () => {
  const doc = frame.contentDocument, width = frame.clientWidth, wrong = [];
  const hidden = e => e.getClientRects().length === 0;
  if (doc.documentElement.scrollWidth > width) wrong.push("the page is " + doc.documentElement.scrollWidth + " wide");
  for (const e of doc.querySelectorAll("body *")) {
    if (hidden(e) || e.closest(".scroll") || e.closest("svg") && e.tagName !== "svg") continue;
    const r = e.getBoundingClientRect();
    if (r.right > width + 0.5 || r.left < -0.5) wrong.push(e.tagName + " reaches from " + r.left + " to " + r.right + ": " + e.textContent.slice(0, 40));
  }
  let charts = 0, texts = 0;
  for (const svg of doc.querySelectorAll("svg")) {
    if (hidden(svg)) continue;
    charts++;
    const box = svg.getBoundingClientRect(), seen = [];
    for (const t of svg.querySelectorAll("text")) {
      const r = t.getBoundingClientRect();
      texts++;
      if (r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1) wrong.push("a chart cuts off " + t.textContent);
      if (r.height < 10) wrong.push("too small to read: " + t.textContent);
      for (const [words, o] of seen)
        if (r.left < o.right - 1 && o.left < r.right - 1 && r.top < o.bottom - 3 && o.top < r.bottom - 3) wrong.push(words + " and " + t.textContent + " overlap");
      seen.push([t.textContent, r]);
    }
  }
  const fetched = frame.contentWindow.performance.getEntriesByType("resource").map(e => e.name);
  if (fetched.length > 0) wrong.push("it fetched " + fetched);
  document.getElementById("said").textContent = wrong.length === 0 ? "sound: " + charts + " charts, " + (texts > 20) : wrong.join("\n");
};
</script>`

var saidIn = regexp.MustCompile(`(?s)<pre id="said">(.*?)</pre>`)

// TestThePageInABrowser looks at a page in headless Chromium: nothing is cut off or overlaps on a narrow and a wide screen, nothing is
// fetched, and the console stays silent. ./dev browser runs it, and installs the browser.
func TestThePageInABrowser(t *testing.T) {
	for _, dir := range []string{gauged(t, false), gauged(t, true)} {
		_, text := written(t, dir)
		for _, width := range []int{400, 1200} {
			if said, console := inBrowser(t, text, width); said != "sound: 4 charts, true" || console != "" {
				t.Errorf("%d pixels wide: %s\nconsole: %s", width, said, console)
			}
		}
	}
}

// TestTheBrowserSees plants what it must find.
func TestTheBrowserSees(t *testing.T) {
	const svg = `<svg width="100" height="50"><text x="10" y="20">one</text><text x="12" y="20">two</text><text x="90" y="40">three</text></svg>`
	for _, c := range []struct{ page, want string }{
		{`<div style="width:600px">wide</div>`, "the page is"},
		{svg, "one and two overlap"}, {svg, "a chart cuts off three"},
		{`<img src="/page?1">`, "it fetched"},
	} {
		if said, _ := inBrowser(t, "<!doctype html><body>"+c.page, 400); !strings.Contains(said, c.want) {
			t.Errorf("%s: %s, not %s", c.page, said, c.want)
		}
	}
	if _, console := inBrowser(t, "<!doctype html><script>console.error('planted')</script>", 400); !strings.Contains(console, "planted") {
		t.Errorf("the console says %q", console)
	}
}

// inBrowser returns what Chromium says of a page in a frame of that width, and on its console.
func inBrowser(t *testing.T, page string, width int) (said, console string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, page) })
	mux.HandleFunc("/look", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, look, width) })
	server := httptest.NewServer(mux)
	defer server.Close()
	var out, talk bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(),
		"--window-size=1400,1000", "--virtual-time-budget=10000", "--enable-logging=stderr", "--dump-dom", server.URL+"/look")
	cmd.Stdout, cmd.Stderr = &out, &talk
	if err := cmd.Run(); err != nil {
		t.Fatalf("chromium: %v\n%s", err, talk.String())
	}
	m := saidIn.FindStringSubmatch(out.String())
	if m == nil {
		t.Fatalf("chromium shows\n%s", out.String())
	}
	for line := range strings.Lines(talk.String()) {
		if strings.Contains(line, "CONSOLE") && !strings.Contains(line, "favicon.ico") {
			console += line
		}
	}
	return m[1], console
}
