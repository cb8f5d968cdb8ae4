//go:build unix

package manager

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestAnswersForbidBrowsers asks by another name: the answer is refused, and no browser may guess its type, keep it, or load anything from it.
func TestAnswersForbidBrowsers(t *testing.T) {
	t.Parallel()
	m := &manager{address: "127.0.0.1:1"}
	w := httptest.NewRecorder()
	m.guard(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://example.com/v1/cluster", nil))
	if w.Code != http.StatusMisdirectedRequest {
		t.Errorf("the answer is %d", w.Code)
	}
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Content-Security-Policy": "default-src 'none'"} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
