//go:build wine

package cri

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// patient returns a time for waiting: MULLION_CRI_PATIENCE times as long, on an emulated machine.
func patient(d time.Duration) time.Duration {
	factor, err := strconv.Atoi(os.Getenv("MULLION_CRI_PATIENCE"))
	if err != nil {
		return d
	}
	return d * time.Duration(factor)
}

// seconds returns how many seconds a request to the runtime may take, of which the time is that of a machine's own
// processor.
func seconds(d time.Duration) int64 { return int64(patient(d) / time.Second) }

// compile makes a program from a package of the repository, for a system, or copies it from the folder of
// MULLION_CRI_PROGRAMS: not every machine has Go.
func compile(ctx context.Context, system, from, to string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", to, from)
	cmd.Dir, cmd.Env = root(), append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
	if dir := os.Getenv("MULLION_CRI_PROGRAMS"); dir != "" {
		cmd = exec.CommandContext(ctx, "install", "-D", filepath.Join(dir, filepath.Base(to)), to)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compile %s: %w\n%s", from, err, out)
	}
	return nil
}
