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

// spend runs a program on two processors and drops what it prints. An exit code that means "there are findings" is no
// error.
func spend(ctx context.Context, program string, args ...string) (cost, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(cmd.Environ(), "GOMAXPROCS=2")
	var errs bytes.Buffer
	var printed counter
	cmd.Stdout, cmd.Stderr = &printed, &errs
	started := time.Now()
	if err := cmd.Start(); err != nil {
		return cost{}, err
	}

	peak := watch(cmd.Process.Pid)
	err := cmd.Wait()
	c := cost{wall: time.Since(started).Seconds(), rss: peak()}
	if ended, ok := errors.AsType[*exec.ExitError](err); ok && (ended.ExitCode() == 8 || ended.ExitCode() == 1) {
		err = nil
	}

	if err != nil {
		return c, fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, errs.String())
	}
	if printed == 0 {
		return c, fmt.Errorf("%s %s: it found nothing: %s", program, strings.Join(args, " "), errs.String())
	}
	c.cpu = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	return c, nil
}

// counter counts what is written to it.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// watch follows a process' largest RSS until it ends; peak returns it in MiB. (What wait4 returns begins with the RSS
// of the process that started it.)
func watch(pid int) (peak func() float64) {
	stop, done := make(chan struct{}), make(chan float64)

	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()

		largest := 0.0
		for {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // nothing when it is gone
			for line := range strings.Lines(string(text)) {
				var kib float64
				if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kib); n == 1 {
					largest = kib / 1024
				}
			}

			select {
			case <-tick.C:
			case <-stop:
				done <- largest
				return
			}
		}
	}()

	return func() float64 {
		close(stop)
		return <-done
	}
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
	speed := figure{
		what:  "mullion check, all rules, manifests a second of 10,000 on 2 processors",
		asked: "≥ 5000/s",
		unit:  "/s",
	}

	perCPU := figure{
		what:  "the same by processor time, of two processors (which other load does not slow down)",
		asked: "≥ 5000/s",
		unit:  "/s",
	}

	linter := figure{what: "kube-linter on the same manifests, a file each, by processor time of two", unit: "/s"}
	ratio := figure{what: "mullion check on these files is so many times as fast as kube-linter", unit: "×"}
	out := []figure{}
	for _, n := range []int{1_000, 10_000, 50_000} {
		f := figure{
			what:  fmt.Sprintf("mullion check, largest RSS on %d manifests", n),
			asked: "flat",
			unit:  "MiB",
		}

		for range b.runs {
			c, err := spend(ctx, checker, "check", "--offline", "-o", "json", files[n])
			if err != nil {
				return out, err
			}
			f.values = append(f.values, c.rss)
			if n == 10_000 {
				speed.values, perCPU.values = append(speed.values, float64(n)/c.wall),
					append(perCPU.values, float64(n)/c.cpu*2)
			}
		}

		out = append(out, f)
	}

	folder := filepath.Join(dir, "each")
	if err := splitCorpus(files[10_000], folder); err != nil {
		return out, err
	}

	for range b.runs {
		ours, err := spend(ctx, checker, "check", "--offline", "-o", "json", folder)
		if err != nil {
			return out, err
		}
		theirs, err := spend(ctx, filepath.Join(b.bin, "kube-linter"), "lint", "--format", "json", folder)
		if err != nil {
			return out, err
		}

		linter.values, ratio.values = append(linter.values, 10_000/theirs.cpu*2),
			append(ratio.values, theirs.cpu/ours.cpu)
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

// splitCorpus writes each manifest to a file of its own: kube-linter skips a whole file because of one object that it
// cannot read.
func splitCorpus(from, folder string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}

	n := 0
	for doc := range bytes.SplitSeq(text, []byte("---\n")) {
		if len(doc) == 0 {
			continue
		}
		n++
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%05d.yaml", n)), doc, 0o600); err != nil {
			return err
		}
	}

	return nil
}

// firstFinding measures the time from the start of the program to the first byte of a finding, while standard input
// stays open.
func (b *bench) firstFinding(ctx context.Context, checker string) (figure, error) {
	f := figure{
		what:  "mullion check, from its start to the first finding on standard input",
		asked: "≤ 50 ms",
		unit:  "ms",
	}

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
