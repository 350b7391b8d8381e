package cri

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/runtime/cri/store"
)

// TestVerdictThatComesWithTheEnd: the program is refused, and the container ends, between two looks at the report.
func TestVerdictThatComesWithTheEnd(t *testing.T) {
	s := &Server{cfg: Config{StateDir: t.TempDir(), Launch: Launch{Run: "run.exe"}}}
	c := store.Container{ID: "c"}
	report := filepath.Join(s.runDir(c), reportName)
	if err := os.MkdirAll(filepath.Dir(report), 0o700); err != nil {
		t.Fatal(err)
	}

	for range 20 {
		if err := os.WriteFile(report, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		ended, err := make(chan struct{}), make(chan error, 1)
		go func() { err <- s.awaitVerdict(t.Context(), c, ended) }()
		<-time.After(time.Millisecond) // Between the first look and the second, mostly.
		if err := os.WriteFile(report, []byte("failed 5 Access is denied.\n"), 0o600); err != nil {
			t.Fatal(err)
		}

		var got error
		select {
		case ended <- struct{}{}: // Taken while awaitVerdict waits.
			got = <-err
		case got = <-err:
		}
		if got == nil || !strings.Contains(got.Error(), "Access is denied.") {
			t.Fatalf("verdict: %v", got)
		}
	}
}
