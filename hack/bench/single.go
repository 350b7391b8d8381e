package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// helloSource is the program of both sides: it says something, and ends.
const helloSource = "package main\n\nimport \"os\"\n\nfunc main() { os.Stdout.WriteString(\"hello\\n\") }\n"

const helloImage = "mullion.local/bench-hello:v1"

// single measures `mullion run` of an image that is there, with its engine, beside `runc run` of the same program for
// Linux, whose image is unpacked: from the command to the first line of output, in turns. The Linux container has
// namespaces of its own, as `runc spec` describes them, but no way out of its network.
func (b *bench) single(ctx context.Context) (_ []figure, err error) {
	dir := filepath.Join(filepath.Dir(b.data), "single")
	if err := b.hello(ctx, dir); err != nil {
		return nil, err
	}

	data := filepath.Join(dir, "data")
	mullion := func(ctx context.Context, args ...string) *exec.Cmd {
		return exec.CommandContext(ctx, filepath.Join(b.bin, "mullion"), append([]string{"--data-dir", data}, args...)...)
	}
	defer func() {
		down := mullion(context.WithoutCancel(ctx), "down", "--run")
		if out, downErr := down.CombinedOutput(); downErr != nil {
			err = errors.Join(err, fmt.Errorf("mullion down --run: %w\n%s", downErr, out))
		}
	}()

	build := mullion(ctx, "image", "build", filepath.Join(dir, "windows"), "-t", helloImage, "--run")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the Windows image: %w\n%s", err, out)
	}
	runc := func(n int) *exec.Cmd {
		return exec.CommandContext(ctx, filepath.Join(b.bin, "runc"), "--root", filepath.Join(dir, "runc"), "run",
			"--bundle", filepath.Join(dir, "linux"), fmt.Sprintf("bench-%d-%d", os.Getpid(), n))
	}

	linux := figure{what: "runc run of a Linux program, to its first line", unit: "s"}
	windows := figure{
		what:  "mullion run of an image that is there, to the first line",
		asked: "≤ 1.0 s",
		unit:  "s",
	}
	more := figure{
		what:  "the same, more than runc run's median",
		asked: "≤ 0.3 s",
		unit:  "s",
	}
	for n := range b.runs*inTurn + 1 {
		var took [2]float64
		for at, cmd := range []*exec.Cmd{runc(n), mullion(ctx, "run", "--rm", helloImage)} {
			if took[at], err = firstLine(cmd); err != nil {
				return nil, err
			}
		}
		if n > 0 { // the first starts the engine
			linux.values, windows.values = append(linux.values, took[0]), append(windows.values, took[1])
		}
	}

	for _, w := range windows.values {
		more.values = append(more.values, w-median(linux.values))
	}

	together := figure{what: fmt.Sprintf("%d times mullion run at once, to the end of the last", runsAtOnce), unit: "s"}
	for range b.runs {
		took, err := ranAtOnce(func() *exec.Cmd { return mullion(ctx, "run", "--rm", helloImage) })
		if err != nil {
			return nil, err
		}
		together.values = append(together.values, took)
	}
	return []figure{linux, windows, more, together}, nil
}

// runsAtOnce is how many containers are run at once.
const runsAtOnce = 20

// ranAtOnce runs commands at once, and returns the seconds until the last has ended.
func ranAtOnce(command func() *exec.Cmd) (float64, error) {
	ended := make(chan error, runsAtOnce)
	began := time.Now()
	for range runsAtOnce {
		go func() {
			_, err := firstLine(command())
			ended <- err
		}()
	}

	var errs []error
	for range runsAtOnce {
		errs = append(errs, <-ended)
	}
	return time.Since(began).Seconds(), errors.Join(errs...)
}

// hello builds the program for both systems: in the folder windows for an image, in the folder linux as a bundle for
// runc.
func (b *bench) hello(ctx context.Context, dir string) error {
	bundle := filepath.Join(dir, "linux")
	source := filepath.Join(dir, "hello.go")
	for _, folder := range []string{filepath.Join(dir, "windows"), filepath.Join(bundle, "rootfs")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}

	err := errors.Join(os.WriteFile(source, []byte(helloSource), 0o600),
		os.WriteFile(filepath.Join(dir, "windows", "image.yaml"), []byte("entrypoint: ['C:\\hello.exe']\n"), 0o600))
	if err != nil {
		return err
	}

	for system, file := range map[string]string{"windows": "windows/hello.exe", "linux": "linux/rootfs/hello"} {
		build := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w", "-o", filepath.Join(dir, file), source)
		build.Env = append(build.Environ(), "CGO_ENABLED=0", "GOARCH=amd64", "GOOS="+system)
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build hello for %s: %w\n%s", system, err, out)
		}
	}

	spec := exec.CommandContext(ctx, filepath.Join(b.bin, "runc"), "spec", "--bundle", bundle)
	if out, err := spec.CombinedOutput(); err != nil {
		return fmt.Errorf("runc spec: %w\n%s", err, out)
	}
	return sayHello(filepath.Join(bundle, "config.json"))
}

// sayHello changes what `runc spec` has written: the program, and no terminal.
func sayHello(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var config map[string]any
	if err := json.Unmarshal(text, &config); err != nil {
		return fmt.Errorf("read %q: %w", file, err)
	}

	process, ok := config["process"].(map[string]any)
	if !ok {
		return fmt.Errorf("read %q: it has no process", file)
	}
	process["args"], process["terminal"] = []string{"/hello"}, false
	if text, err = json.Marshal(config); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// firstLine runs a command, and returns the seconds until it has said its first line, which has to be hello's.
func firstLine(cmd *exec.Cmd) (float64, error) {
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}

	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	lines := bufio.NewReader(out)
	line, readErr := lines.ReadString('\n')
	took := time.Since(began).Seconds()
	_, _ = io.Copy(io.Discard, lines) // so that it can end

	if err := cmd.Wait(); err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", cmd, err, errs.String())
	}
	if readErr != nil || line != "hello\n" {
		return 0, fmt.Errorf("%s: it says %q: %w", cmd, line, readErr)
	}
	return took, nil
}
