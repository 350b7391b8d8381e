package powershell

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// TestInternet runs a script that asks a server in every way that the cmdlets have.
func TestInternet(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/show", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Answer", "an answer")
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		agent, _, _ := strings.Cut(r.UserAgent(), "/")
		host := strings.Contains(r.Host, "127.0.0.1")
		fmt.Fprintf(w, "%s %s %q %q %q %q %v", r.Method, r.URL, body, r.Header.Get("Content-Type"),
			r.Header.Get("X-Mine"),
			agent, host)
	})

	give := func(path, contentType, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			_, _ = io.WriteString(w, body)
		})
	}
	give("/bytes", "application/octet-stream", "\x00\x01\xff")
	give("/latin", "text/plain", "\xe4")
	give("/json", "application/json", `{"items":[{"name":"a"},{"name":"b"}],"count":2}`)
	give("/script", "text/plain", "function added($n) { $n + 1 }")
	give("/nothing", "text/plain", "")
	give("/xml", "text/xml", "<a/>")
	mux.Handle("/redirect", http.RedirectHandler("/latin", http.StatusFound))
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.RawQuery, http.StatusFound)
	})
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	refuse := func(path, contentType, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, body)
		})
	}
	refuse("/refused", "application/json", `{"kind":"Status","reason":"Forbidden"}`)
	refuse("/page", "text/html; charset=utf-8", "<html><b>No.</b></html>")
	server := httptest.NewServer(mux)
	defer server.Close()
	secured := httptest.NewUnstartedServer(mux)
	// Who does not trust it ends the handshake.
	secured.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	secured.StartTLS()
	defer secured.Close()

	for name, address := range map[string]string{"web": server.URL, "client": server.URL, "trust": secured.URL} {
		t.Run(name, func(t *testing.T) { askServer(t, name, address) })
	}
}

// askServer runs a script with the address of a server.
func askServer(t *testing.T, name, url string) {
	t.Helper()
	script, err := os.ReadFile("testdata/listener/" + name + ".ps1")
	if err != nil {
		t.Fatal(err)
	}

	file := golden(t, "listener", name)
	t.Chdir(t.TempDir())
	var out, errs bytes.Buffer
	s := Session{
		Args:    []string{"-Command", string(script)},
		Environ: []string{"ADDRESS=" + strings.TrimPrefix(strings.TrimPrefix(url, "http://"), "https://")},
		Stdin:   strings.NewReader(""),
		Stdout:  &out,
		Stderr:  &errs,
		Newline: "\n",
		windows: stageWindows(),
	}

	code := s.Run(t.Context())
	compareGolden(t, file, fmt.Sprintf("%s-- exit %d --\n%s", out.String(), code, errs.String()))
}
