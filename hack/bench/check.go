package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"mullion.dev/mullion/internal/check/corpus"
)

// corpusSeed makes the same manifests in every run.
const corpusSeed = 1

// cost is what a program used.
type cost struct {
	wall, cpu float64 // seconds
	rss       float64 // MiB, at its largest
}

// spend runs a program on two processors and drops what it prints. Exit codes that say "there are findings" are no errors.
func spend(ctx context.Context, program string, args ...string) (cost, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	started := time.Now()
	err := cmd.Run()
	c := cost{wall: time.Since(started).Seconds()}
	if ended, ok := errors.AsType[*exec.ExitError](err); ok && (ended.ExitCode() == 8 || ended.ExitCode() == 1) {
		err = nil
	}
	if err != nil {
		return c, fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, errs.String())
	}
	used, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	c.cpu = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	c.rss = float64(used.Maxrss) / 1024
	return c, nil
}

// check measures `kubectl mullion check` and kube-linter on the same generated manifests. Neither asks a registry.
func (b *bench) check(ctx context.Context) ([]figure, error) {
	dir, err := os.MkdirTemp("", "mullion-bench-check-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	files := map[int]string{}
	for _, n := range []int{1_000, 10_000, 50_000} {
		files[n] = filepath.Join(dir, fmt.Sprintf("%d.yaml", n))
		if err := writeCorpus(files[n], n); err != nil {
			return nil, err
		}
	}
	checker := filepath.Join(b.bin, "kubectl-mullion")
	speed := figure{what: "mullion check, all rules, manifests a second of 10,000 on 2 processors", asked: "≥ 5000/s", unit: "/s"}
	perCPU := figure{what: "the same by processor time, of two processors (which other load does not slow down)", asked: "≥ 5000/s", unit: "/s"}
	linter := figure{what: "kube-linter on the same manifests", unit: "/s"}
	ratio := figure{what: "mullion check is so many times as fast as kube-linter (processor time)", unit: "×"}
	out := []figure{}
	for _, n := range []int{1_000, 10_000, 50_000} {
		f := figure{what: fmt.Sprintf("mullion check, largest RSS on %d manifests", n), asked: "flat", unit: "MiB"}
		for range b.runs {
			c, err := spend(ctx, checker, "check", "--offline", "-o", "json", files[n])
			if err != nil {
				return out, err
			}
			f.values = append(f.values, c.rss)
			if n == 10_000 {
				speed.values, perCPU.values = append(speed.values, float64(n)/c.wall), append(perCPU.values, float64(n)/c.cpu*2)
			}
		}
		out = append(out, f)
	}
	for i := range min(b.runs, 3) { // which takes its time
		c, err := spend(ctx, filepath.Join(b.bin, "kube-linter"), "lint", "--format", "json", files[10_000])
		if err != nil {
			return out, err
		}
		linter.values, ratio.values = append(linter.values, 10_000/c.wall), append(ratio.values, perCPU.values[i]/(10_000/c.cpu*2))
	}
	first, err := b.firstFinding(ctx, checker)
	return append(out, speed, perCPU, linter, ratio, first), err
}

func writeCorpus(file string, n int) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(corpus.Write(f, corpusSeed, n), f.Close())
}

// firstFinding measures from the start of the program to the first byte it prints of a finding, while standard input stays open.
func (b *bench) firstFinding(ctx context.Context, checker string) (figure, error) {
	f := figure{what: "mullion check, from its start to the first finding on standard input", asked: "≤ 50 ms", unit: "ms"}
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {nodeSelector: {kubernetes.io/os: windows}, hostPID: true}\n---\n"
	for range 3 * b.runs {
		cmd := exec.CommandContext(ctx, checker, "check", "--offline", "-")
		in, err := cmd.StdinPipe()
		if err != nil {
			return f, err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return f, err
		}
		started := time.Now()
		if err := cmd.Start(); err != nil {
			return f, err
		}
		_, err = io.WriteString(in, pod)
		if err == nil {
			_, err = out.Read(make([]byte, 1))
		}
		f.values = append(f.values, time.Since(started).Seconds()*1000)
		in.Close()
		_, _ = io.Copy(io.Discard, out)
		if err = errors.Join(err, cmd.Wait()); err != nil {
			return f, fmt.Errorf("first finding: %w", err)
		}
	}
	return f, nil
}
