//go:build cluster

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// dockerUp is an engine of `mullion docker up`, and docker for Linux that speaks to its socket.
type dockerUp struct {
	cluster

	docker, socket string
}

// TestFieldDockerUp brings up Docker's engine without a cluster and has docker for Linux, unmodified, use it by the
// engine's socket: streams with their end, consoles, logs that are followed, files, builds, volumes, ports of this
// machine's loopback. Its parts are killed and it comes back; what is left of it is nothing.
func TestFieldDockerUp(t *testing.T) {
	needs(t, dockerProgram("dockerd.exe"), dockerProgram("docker"), dockerProgram("docker.exe"),
		program("e2e/windows/agnhost.exe", "agnhost.exe", "e2e"))

	c := newCluster(t)
	d := dockerUp{cluster: c, docker: filepath.Join(c.bin, "docker-windows", "docker")}
	t.Cleanup(func() {
		if t.Failed() {
			logs(t, c)
		}
		d.ends(t, 0, "docker", "down")
		d.nothing(t)
	})
	d.up(t)
	again := d.ends(t, 0, "docker", "env", "--shell", "bash")
	if want := fmt.Sprintf("export DOCKER_HOST=%q\n", "unix://"+d.socket); again != want {
		t.Errorf("env prints %q, want %q", again, want)
	}

	if info, err := os.Stat(d.socket); err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("the socket's mode is %v, %v", info.Mode(), err)
	}
	d.ends(t, 4, "docker", "up", "--windows-version", "ltsc2019")

	t.Run("page", d.page)
	d.up(t) // the page took it down
	d.load(t)
	t.Run("streams", d.streams)
	t.Run("life", d.life)
	t.Run("ports", d.ports)
	t.Run("pipe", d.pipe)
	t.Run("ryuk", d.ryuk)
	t.Run("compose", d.compose)
	t.Run("testcontainers", d.testcontainers)
	t.Run("faults", d.faults)
}

// ends runs mullion for the engine as for a cluster: the engine's folder is given by a flag, because the one of the
// environment is a cluster's.
func (d dockerUp) ends(t *testing.T, code int, args ...string) string {
	t.Helper()
	return d.cluster.ends(t, code, "", append([]string{"--data-dir", d.data}, args...)...)
}

// up brings the engine up, and finds its socket.
func (d *dockerUp) up(t *testing.T) {
	t.Helper()
	d.ends(t, 0, "docker", "up", "--wait", "15m") // on a busy machine
	out := d.ends(t, 0, "docker", "status", "-o", "json")
	var s struct{ State, DockerHost string }
	if err := json.Unmarshal([]byte(out), &s); err != nil || s.State != "ready" {
		t.Fatalf("status: %v\n%s", err, out)
	}
	d.socket = strings.TrimPrefix(s.DockerHost, "unix://")
}

// command is docker with arguments.
func (d dockerUp) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, d.docker, args...)
	cmd.Env = append(d.env(), "DOCKER_HOST=unix://"+d.socket, "DOCKER_BUILDKIT=0")
	return cmd
}

// run runs docker, which has to end with a code and to print a text, and returns what it printed.
func (d dockerUp) run(t *testing.T, in string, code int, want string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := d.command(ctx, args...)
	cmd.Stdin = strings.NewReader(in)
	out, err := cmd.CombinedOutput()
	if got := exitCode(err); got != code || !strings.Contains(string(out), want) {
		t.Fatalf("docker %q: exit code %d, want %d and %q: %v\n%s", args, got, code, want, err, out)
	}
	return string(out)
}

// page carries out the quick start of the guide.
func (d dockerUp) page(t *testing.T) {
	builds := filepath.Join(d.home, "builds") // the engine of single containers has a folder of its own
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if out, err := d.mullion(ctx, t, "--data-dir", builds, "down", "--run"); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})

	lines := "set -euo pipefail\nsudo() { \"$@\"; }\n" +
		"mullion() {\n  local data='" + d.data + "'\n  if [ \"$1\" = image ]; then data='" + builds + "'; fi\n" +
		"  command mullion --data-dir \"$data\" \"$@\"\n}\n" + script(t, "docker.md")
	cmd := exec.CommandContext(t.Context(), "bash", "-c", lines)
	cmd.Dir = t.TempDir()
	cmd.Env = append(d.env(), "PATH="+filepath.Dir(d.docker)+":"+d.path())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the page's lines: %v\n%s", err, out)
	}

	for _, want := range []string{"Microsoft Windows [Version 10.0.26100", "Successfully tagged web:v1", "\nhello\n"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in what the page's lines print:\n%s", want, out)
		}
	}
}

// load makes the image of the tests.
func (d dockerUp) load(t *testing.T) {
	t.Helper()
	archive := d.dockerArchive(t, "ltsc2025", map[string]string{
		"agnhost.exe": filepath.Join(d.bin, "e2e/windows/agnhost.exe"),
		"docker.exe":  filepath.Join(filepath.Dir(d.docker), "docker.exe"),
	})
	d.run(t, "", 0, "Loaded image: "+dockerImage, "load", "-i", archive)
}

// streams has input, output and consoles pass, each with its end.
func (d dockerUp) streams(t *testing.T) {
	d.run(t, "", 0, "Microsoft Windows [Version 10.0.26100", "run", "--rm", dockerImage, "cmd", "/c", "ver")
	d.run(t, "", 7, "", "run", "--rm", "--network", "none", dockerImage, "cmd", "/c", "exit 7")
	d.run(t, "", 127, "cannot find the file", "run", "--rm", dockerImage, "absent.exe")

	// The end of the input is the program's end: it sorts what it has when there is no more.
	var lines, sorted strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&lines, "line %05d\r\n", 19999-i)
		fmt.Fprintf(&sorted, "line %05d\r\n", i)
	}

	// It has all of it also when it begins to read after the end, with a part still on its way.
	for _, program := range [][]string{{"sort"}, {"cmd", "/c", "ping -n 4 127.0.0.1 >nul <nul& sort"}} {
		command := append([]string{"run", "--rm", "-i", dockerImage}, program...)
		if got := d.run(t, lines.String(), 0, "", command...); got != sorted.String() {
			t.Errorf("%q: %d bytes went in, %d came out", program, sorted.Len(), len(got))
		}
	}

	d.run(t, "", 0, "", "run", "-d", "--name", "s1", dockerImage, "cmd", "/c", waits)
	defer d.run(t, "", 0, "", "rm", "-f", "s1")
	d.run(t, "", 5, "containeradministrator", "exec", "s1", "cmd", "/c", "whoami& exit 5")
	d.run(t, "x\r\n", 0, "x", "exec", "-i", "s1", "findstr", "x")
	out, err := exec.CommandContext(t.Context(), "script", "-qec",
		fmt.Sprintf("DOCKER_HOST=unix://%s %s exec -it s1 cmd /c ver", d.socket, d.docker), "/dev/null").CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("Microsoft Windows")) {
		t.Errorf("exec -it: %v\n%s", err, out)
	}

	// A log is followed until the container ends.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	follow := d.command(ctx, "logs", "-f", "s1")
	var log bytes.Buffer
	follow.Stdout = &log
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}

	d.run(t, "", 0, "", "stop", "s1")
	if err := follow.Wait(); err != nil || !strings.Contains(log.String(), "it runs") {
		t.Errorf("logs -f: %v, %q", err, log.String())
	}
}

// life leads containers, volumes and files through theirs.
func (d dockerUp) life(t *testing.T) {
	d.run(t, "", 0, "windowsfilter", "info")
	since := strconv.FormatInt(time.Now().Unix(), 10)
	d.run(t, "", 0, "", "volume", "create", "kept")
	d.run(t, "", 0, "", "run", "--rm", "-v", `kept:C:\vol`, dockerImage, "cmd", "/c", `echo in a volume> C:\vol\x.txt`)
	d.run(t, "", 0, "in a volume", "run", "--rm", "-v", `kept:C:\vol`, dockerImage, "cmd", "/c", `type C:\vol\x.txt`)
	d.run(t, "", 0, "", "volume", "rm", "kept")
	until := strconv.FormatInt(time.Now().Unix()+1, 10) // the command counts whole seconds
	d.run(t, "", 0, "volume destroy kept", "events", "--since", since, "--until", until)
	d.run(t, "", 0, "nat", "network", "ls")

	d.run(t, "", 0, "", "run", "-d", "--name", "l1", dockerImage, "cmd", "/c", waits)
	d.run(t, "", 0, "l1", "ps")
	d.run(t, "", 0, "l1", "stats", "--no-stream")
	d.run(t, "", 0, "ping.exe", "top", "l1")
	d.run(t, "", 128, "not supported", "exec", "-u", "ContainerUser", "l1", "cmd", "/c", "ver")

	file := filepath.Join(t.TempDir(), "file.txt")
	copied := func() {
		t.Helper()
		os.Remove(file)
		d.run(t, "", 0, "", "cp", "l1:/app/image.txt", file)
		if text, err := os.ReadFile(file); err != nil || string(text) != "of the image\r\n" {
			t.Errorf("the file that was copied is %q, %v", text, err)
		}
	}

	copied()
	d.run(t, "", 0, "", "cp", file, "l1:/app/given.txt")
	d.run(t, "", 0, "of the image", "exec", "l1", "cmd", "/c", `type C:\app\given.txt`)
	d.run(t, "", 0, "", "stop", "l1")
	copied()

	d.run(t, "", 0, "", "cp", file, "l1:/app/added.txt")
	d.run(t, "", 0, "", "start", "l1")
	d.run(t, "", 0, "of the image", "exec", "l1", "cmd", "/c", `type C:\app\added.txt`)
	d.run(t, "", 0, "", "rm", "-f", "l1")
}

// ports has containers answer at this machine's loopback, and nowhere else, until they end.
func (d dockerUp) ports(t *testing.T) {
	d.run(t, "", 0, "", "run", "-d", "--name", "p1", "-p", "80", "-p", "38080:80", "-p", "38081:81/udp", dockerImage,
		`C:\app\agnhost.exe`, "netexec", "--http-port", "80", "--udp-port", "81")
	port := regexp.MustCompile(`80/tcp -> 0\.0\.0\.0:(6\d+)`).FindStringSubmatch(d.run(t, "", 0, "", "port", "p1"))
	if port == nil {
		t.Fatal("no port was picked for -p 80")
	}
	for _, at := range []string{"127.0.0.1:" + port[1], "127.0.0.1:38080"} {
		poll(t, time.Minute, func(ctx context.Context) error { return says(ctx, at, "hello") })
	}

	until(t, time.Minute, func() error {
		c, err := net.Dial("udp", "127.0.0.1:38081")
		if err != nil {
			return err
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(5 * time.Second))
		fmt.Fprint(c, "echo hello\n")
		answer := make([]byte, 100)
		if n, err := c.Read(answer); err != nil || string(answer[:n]) != "hello" {
			return fmt.Errorf("the answer is %q, %w", answer[:n], err)
		}

		return nil
	})

	// A container does not answer in the place of the engine itself.
	taken := "The process cannot access the file because it is being used by another process."
	d.run(t, "", 125, taken, "run", "-d", "--name", "engine", "-p", "2375:80", dockerImage, "cmd", "/c", waits)
	d.run(t, "", 0, "", "rm", "-f", "engine")

	// One that another program has is told of.
	l, err := net.Listen("tcp", "127.0.0.1:38082")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	d.run(t, "", 0, "", "run", "-d", "--name", "p2", "-p", "38082:80", dockerImage, "cmd", "/c", waits)
	until(t, time.Minute, func() error {
		if out := d.ends(t, 0, "docker", "status"); !strings.Contains(out, "not 38082/tcp: another program of this machine has it") {
			return errors.New(out)
		}
		return nil
	})

	l.Close() // of which the engine hears nothing
	until(t, time.Minute, func() error {
		if out := d.ends(t, 0, "docker", "status"); strings.Contains(out, "not 38082/tcp") {
			return errors.New(out)
		}
		return nil
	})

	d.run(t, "", 0, "", "rm", "-f", "p1", "p2")
	until(t, time.Minute, func() error {
		if c, err := net.Dial("tcp", "127.0.0.1:38080"); err == nil {
			c.Close()
			return errors.New("the port of a container that has gone is open")
		}
		return nil
	})
}

// says asks agnhost's server to say a word.
func says(ctx context.Context, at, word string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/echo?msg="+word, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || string(text) != word {
		return fmt.Errorf("%s answers %q, %w", at, text, err)
	}
	return nil
}

// faults kills parts of the engine. It comes back by itself, or by the next up, with images and containers.
func (d dockerUp) faults(t *testing.T) {
	d.run(t, "", 0, "", "run", "-d", "--name", "k1", dockerImage, "cmd", "/c", waits)
	for _, part := range []string{`dockerd\.exe`, `mullion-node serve\b`, `bin/containerd --config`, `mullion-pipe\.exe`} {
		d.kill(t, part)
		poll(t, 2*time.Minute, func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			out, err := d.command(ctx, "run", "--rm", dockerImage, "cmd", "/c", "ver").CombinedOutput()
			if err != nil || !bytes.Contains(out, []byte("Microsoft Windows")) {
				return fmt.Errorf("after the end of %s: %w: %s", part, err, out)
			}
			return nil
		})
	}

	d.kill(t, `mullion .*supervise`)
	d.ends(t, 0, "docker", "up", "--wait", "15m")
	d.run(t, "", 0, "k1", "ps", "-a")
	d.run(t, "", 0, "", "rm", "-f", "k1")
	d.run(t, "", 0, "Microsoft Windows", "run", "--rm", dockerImage, "cmd", "/c", "ver")
}

// nothing finds nothing of an engine that was taken down.
func (d dockerUp) nothing(t *testing.T) {
	t.Helper()
	for _, path := range []string{d.data, filepath.Dir(d.socket)} {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil || bytes.Contains(mounts, []byte(d.data)) {
		t.Errorf("mounts are left, %v", err)
	}
	if left := d.processes(t); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}
