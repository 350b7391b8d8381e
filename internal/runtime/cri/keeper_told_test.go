package cri

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/runtime/cri/stream"
)

// TestMessagesOfTheKeeperAreLogged: they have the pod, which the keeper does not know, and the log's level holds.
func TestMessagesOfTheKeeperAreLogged(t *testing.T) {
	s, text := logged(t, slog.LevelInfo)
	s.tellOfStreams(t.Context(), stream.Message{
		Time: time.Now(), Level: slog.LevelWarn, Text: "output lost", Container: "container1", Stream: "stdout",
		Error: "no space left on device", Times: 7,
	})

	for _, want := range []string{
		`level=WARN msg="output lost"`, "pod=shop/web-0 container=container1 stream=stdout", "times=7",
		`error="no space left on device"`,
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the log lacks %q: %q", want, text)
		}
	}

	text.Reset()
	s.tellOfStreams(t.Context(), stream.Message{
		Level:     slog.LevelDebug,
		Text:      "input lost",
		Container: "container1",
	})
	if text.Len() > 0 {
		t.Errorf("logged at info: %q", text)
	}

	s.tellOfStreams(t.Context(), stream.Message{
		Level:     slog.LevelInfo,
		Text:      "of nobody",
		Container: "gone",
	})
	if !strings.Contains(text.String(), "container=gone") || strings.Contains(text.String(), "pod=") {
		t.Errorf("of a container that is gone: %q", text)
	}
}

// TestErrorsOfAKeeper: a keeper outlives who starts it, so there is no pipe for its errors.
func TestErrorsOfAKeeper(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "keeper.sock")
	if said := keeperErrors(socket); said != "" {
		t.Errorf("a keeper that has never been said %q", said)
	}

	for _, words := range []string{"no room, and much more", "panic"} {
		if err := startKeeper([]string{"/bin/sh", "-c", "echo '" + words + "' >&2"}, socket); err != nil {
			t.Fatal(err)
		}

		deadline := time.Now().Add(10 * time.Second)
		for keeperErrors(socket) != words {
			if time.Now().After(deadline) {
				t.Fatalf("the keeper said %q, want %q", keeperErrors(socket), words)
			}
			<-time.After(5 * time.Millisecond)
		}
	}
}
