package clitest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/view"
	"mullion.dev/mullion/internal/spec"
)

// Answers are what a cluster's socket answers, by the paths of the requests.
type Answers map[string]func(view.Ask, io.Writer) error

// Said answers a text.
func Said(text string) func(view.Ask, io.Writer) error {
	return func(_ view.Ask, to io.Writer) error {
		_, err := io.WriteString(to, text)
		return err
	}
}

// Refuses answers with an error of a kind.
func Refuses(kind view.Kind, text string) func(view.Ask, io.Writer) error {
	return func(view.Ask, io.Writer) error { return &view.KindError{Kind: kind, Err: errors.New(text)} }
}

// JSON answers a value.
func JSON[T any](v T) func(view.Ask, io.Writer) error {
	write := view.JSON(func(context.Context, view.Ask) (T, error) { return v, nil })
	return func(ask view.Ask, to io.Writer) error {
		return write(context.Background(), ask, to) //nolint:forbidigo // the value is there
	}
}

// Cluster returns the answer about the usual cluster, whose API server answers at url.
func Cluster(url string) func(view.Ask, io.Writer) error {
	return JSON(view.Cluster{
		Spec:      spec.Default([]string{"ltsc2022"}, false, "").WithDefaults(),
		Server:    url,
		Authority: []byte("ca"),
	})
}

// ReadBy makes the machine's user one who is not root, and has the cluster's socket answer.
func (m *Machine) ReadBy(all Answers) {
	m.T.Helper()
	dir := m.T.TempDir()
	c := view.Config{
		Socket:  filepath.Join(dir, "view.sock"),
		Viewers: filepath.Join(dir, "viewers.json"),
		Log:     slog.New(slog.DiscardHandler),
	}

	if err := view.Note(c.Viewers, []string{fmt.Sprintf("SUDO_UID=%d", os.Getuid())}); err != nil {
		m.T.Fatal(err)
	}

	for path, answer := range all {
		c.Requests = append(c.Requests, view.Request{
			Path:   path,
			Query:  []string{"tail", "follow", "node", "namespace", "pod"},
			Within: 20 * time.Second,
			Most:   1 << 20,
			AtOnce: 4,
			Answer: func(_ context.Context, ask view.Ask, to io.Writer) error { return answer(ask, to) },
		})
	}

	ctx, cancel := context.WithCancel(m.T.Context())
	ended := make(chan error, 1)
	go func() { ended <- view.Serve(ctx, c) }()
	m.T.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			m.T.Error(err)
		}
	})

	deadline := time.Now().Add(10 * time.Second)
	for {
		if info, err := os.Stat(c.Socket); err == nil && info.Mode().Perm() == 0o666 {
			break
		}
		if time.Now().After(deadline) {
			m.T.Fatal("nobody serves the socket")
		}
	}

	m.Env.Euid = 1000
	m.Sources.View = func(layout.Paths) view.Client { return view.NewClient(c.Socket) }
}
