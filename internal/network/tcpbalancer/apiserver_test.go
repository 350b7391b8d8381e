package tcpbalancer

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestCheckAPIServer(t *testing.T) {
	dial := (&net.Dialer{}).DialContext
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		want   string // part of the error, "" for none
	}{
		{"ready", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/readyz" {
				w.WriteHeader(http.StatusInternalServerError)
			}
		}, ""},
		{"not ready", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
		}, "GET /readyz: 500"},
		{"not for strangers", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, ""},
		{"words for a terminal", func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			defer c.Close()
			fmt.Fprint(c, "HTTP/1.1 500 \x1b[2Jall is well\r\n\r\n")
		}, "GET /readyz: 500 Internal Server Error"},
		{"elsewhere", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://192.0.2.1/", http.StatusFound)
		}, "GET /readyz: 302"},
		{"says nothing", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "deadline exceeded"},
		{"says too much", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat("x", 1<<20))
		}, "exceeded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewTLSServer(c.answer)
			defer server.Close()
			limit := 10 * time.Second
			if c.name == "says nothing" {
				limit = 300 * time.Millisecond
			}

			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			err := CheckAPIServer(dial)(ctx, server.Listener.Addr().String())
			if (c.want == "" && err != nil) || (c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want))) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}

	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	if err := CheckAPIServer(dial)(t.Context(), plain.Listener.Addr().String()); err == nil {
		t.Error("a server without TLS passes")
	}
}
