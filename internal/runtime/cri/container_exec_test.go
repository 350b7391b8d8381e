package cri_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/critest"
)

// program returns what a container's programs do in these tests: "exit <code>", "fail", "hang", "cat" or "write
// <bytes>".
func program(ctx context.Context, p critest.Program) (code uint32, err error) {
	argument := uint32(0)
	if len(p.Args) > 1 {
		if _, err := fmt.Sscan(p.Args[1], &argument); err != nil {
			return 0, err
		}
	}

	switch p.Args[0] {
	case "exit":
		_, err := fmt.Fprintf(p.Stdout, "ends with %d", argument)
		return argument, err
	case "fail":
		return 1, p.Refuse(2, "The system cannot find the file specified.")
	case "hang":
		<-ctx.Done()
		return 0, ctx.Err()

	case "cat":
		_, err := io.Copy(p.Stdout, p.Stdin)
		return 0, err

	case "write":
		text := bytes.Repeat([]byte("x"), int(argument))
		for _, w := range []io.Writer{p.Stdout, p.Stderr} {
			if _, err := w.Write(text); err != nil {
				return 0, err
			}
		}
		return 0, nil
	}

	return 0, fmt.Errorf("no program %q", p.Args[0])
}

func TestExecSync(t *testing.T) {
	n := critest.NewNode(t)
	n.Engine.OnExec = program
	pod := n.RunPod(t, "web")
	id, notStarted := n.Run(t, pod, "app"), n.Create(t, pod, "new")
	for _, tc := range []struct {
		name, id string
		cmd      []string
		timeout  int64
		stdout   string
		exit     int32
		code     codes.Code
		words    string
	}{
		{name: "ends", id: id, cmd: []string{"exit", "0"}, stdout: "ends with 0"},
		{
			name:   "32-bits",
			id:     id,
			cmd:    []string{"exit", "3221225477"},
			stdout: "ends with 3221225477",
			exit:   -1073741819,
		},
		{
			name:  "longer-than-windows-takes",
			id:    id,
			cmd:   []string{"exit", strings.Repeat("0", 1<<15)},
			code:  codes.Unknown,
			words: "The filename or extension is too long. (0xce)",
		},
		{name: "in-time", id: id, cmd: []string{"exit", "9"}, timeout: 60, stdout: "ends with 9", exit: 9},
		{
			name:    "not-in-time",
			id:      id,
			cmd:     []string{"hang"},
			timeout: 1,
			code:    codes.DeadlineExceeded,
			words:   "timeout of 1 s exceeded",
		},
		{
			name:  "refused",
			id:    id,
			cmd:   []string{"fail"},
			code:  codes.Unknown,
			words: "cannot find the file specified.",
		},
		{name: "no-command", id: id, code: codes.InvalidArgument, words: "no command"},
		{name: "empty-command", id: id, cmd: []string{""}, code: codes.InvalidArgument, words: "no command"},
		{
			name:  "not-started",
			id:    notStarted,
			cmd:   []string{"exit", "0"},
			code:  codes.FailedPrecondition,
			words: "CONTAINER_CREATED",
		},
		{name: "not-there", id: "0123", cmd: []string{"exit", "0"}, code: codes.NotFound},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req := &runtimeapi.ExecSyncRequest{
				ContainerId: tc.id,
				Cmd:         tc.cmd,
				Timeout:     tc.timeout,
			}

			resp, err := n.ExecSync(t.Context(), req)
			expect(t, err, tc.code, tc.words)
			if string(resp.GetStdout()) != tc.stdout || resp.GetExitCode() != tc.exit {
				t.Errorf("output %q, exit code %d, want %q, %d", resp.GetStdout(), resp.GetExitCode(), tc.stdout,
					tc.exit)
			}
		})
	}

	c, _ := n.Engine.Container(id)
	if diff := cmp.Diff([]string{"env", "job", "report"}, listDir(t, c.WorkDir)); diff != "" {
		t.Errorf("working folder (-want +got):\n%s", diff)
	}
}

// TestExecSyncOutputIsCutOff: the kubelet takes no message of more than 16 MiB.
func TestExecSyncOutputIsCutOff(t *testing.T) {
	n := critest.NewNode(t)
	n.Engine.OnExec = program
	id := n.Run(t, n.RunPod(t, "web"), "app")
	for _, size := range []int{1 << 20, 9 << 20, 17 << 20} {
		cmd := []string{"write", strconv.Itoa(size)} // to each of both streams
		resp, err := n.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: cmd})
		if err != nil {
			t.Errorf("%d bytes: %v", size, err)
			continue
		}

		const most = 16<<20 - 1<<10
		stdout, stderr := len(resp.GetStdout()), len(resp.GetStderr())
		if wantOut, wantErr := min(size, most), min(size, most-min(size, most)); stdout != wantOut ||
			stderr != wantErr {
			t.Errorf("%d bytes: %d and %d bytes of output, want %d and %d", size, stdout, stderr, wantOut, wantErr)
		}
	}
}

// remote connects to a streaming address as kubectl does.
func remote(t *testing.T, address string, opts remotecommand.StreamOptions) error {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	e, err := remotecommand.NewSPDYExecutor(&rest.Config{Host: u.Host}, "POST", u)
	if err != nil {
		t.Fatal(err)
	}
	return e.StreamWithContext(t.Context(), opts)
}

func TestExec(t *testing.T) {
	n := critest.NewNode(t)
	n.Engine.OnExec = program
	id := n.Run(t, n.RunPod(t, "web"), "app")
	address := func(cmd ...string) string {
		resp, err := n.Exec(t.Context(), &runtimeapi.ExecRequest{
			ContainerId: id,
			Cmd:         cmd,
			Stdin:       true,
			Stdout:      true,
		})
		if err != nil {
			t.Fatalf("Exec: %v", err)
		}

		return resp.GetUrl()
	}

	first := address("cat")
	var out bytes.Buffer
	err := remote(t, first, remotecommand.StreamOptions{Stdin: strings.NewReader("echo"), Stdout: &out})
	if err != nil || out.String() != "echo" {
		t.Errorf("cat: %q, %v", out.String(), err)
	}

	if err := remote(t, first, remotecommand.StreamOptions{
		Stdin:  strings.NewReader(""),
		Stdout: io.Discard,
	}); err == nil {
		t.Error("a token was good twice")
	}

	for _, tc := range []struct{ cmd, words string }{
		{"exit 9", "exit code 9"}, {"fail", "cannot find the file specified."},
	} {
		streams := remotecommand.StreamOptions{Stdin: strings.NewReader(""), Stdout: io.Discard}
		err := remote(t, address(strings.Fields(tc.cmd)...), streams)
		if err == nil || !strings.Contains(err.Error(), tc.words) {
			t.Errorf("%s: %v, want %q", tc.cmd, err, tc.words)
		}
	}

	late := address("cat")
	if err := stopContainer(t, n, id, 0); err != nil {
		t.Fatal(err)
	}
	err = remote(t, late, remotecommand.StreamOptions{Stdin: strings.NewReader("echo"), Stdout: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "CONTAINER_EXITED") {
		t.Errorf("exec in a container that has ended since: %v", err)
	}
}

// TestStreamAddresses has the calls that answer with an address for the kubelet to connect to.
func TestStreamAddresses(t *testing.T) {
	n := critest.NewNode(t)
	pod := n.RunPod(t, "web")
	stopped := n.RunPod(t, "stopped")
	stop(t, n, stopped)
	runs, notStarted := n.Run(t, pod, "app"), n.Create(t, pod, "new")
	exec := func(id string, streams bool) (string, error) {
		resp, err := n.Exec(t.Context(), &runtimeapi.ExecRequest{
			ContainerId: id,
			Cmd:         []string{"cmd"},
			Stdout:      streams,
		})
		return resp.GetUrl(), err
	}

	attach := func(id string, streams bool) (string, error) {
		resp, err := n.Attach(t.Context(), &runtimeapi.AttachRequest{ContainerId: id, Stdout: streams})
		return resp.GetUrl(), err
	}
	forward := func(id string, _ bool) (string, error) {
		resp, err := n.PortForward(t.Context(), &runtimeapi.PortForwardRequest{PodSandboxId: id})
		return resp.GetUrl(), err
	}

	for _, tc := range []struct {
		name, path string
		call       func(id string, streams bool) (string, error)
		id         string
		streams    bool
		code       codes.Code
	}{
		{"exec", "/exec/", exec, runs, true, codes.OK},
		{"exec-no-streams", "", exec, runs, false, codes.InvalidArgument},
		{"exec-not-started", "", exec, notStarted, true, codes.FailedPrecondition},
		{"exec-not-there", "", exec, "0123", true, codes.NotFound},
		{"attach", "/attach/", attach, runs, true, codes.OK},
		{"attach-no-streams", "", attach, runs, false, codes.InvalidArgument},
		{"attach-not-started", "", attach, notStarted, true, codes.FailedPrecondition},
		{"attach-not-there", "", attach, "0123", true, codes.NotFound},
		{"portforward", "/portforward/", forward, pod, true, codes.OK},
		{"portforward-stopped", "", forward, stopped, true, codes.FailedPrecondition},
		{"portforward-not-there", "", forward, "0123", true, codes.NotFound},
	} {
		t.Run(tc.name, func(t *testing.T) {
			address, err := tc.call(tc.id, tc.streams)
			expect(t, err, tc.code)
			if tc.code != codes.OK {
				return
			}
			u, err := url.Parse(address)
			if err != nil || u.Scheme != "http" || u.Hostname() != "127.0.0.1" || !strings.HasPrefix(u.Path, tc.path) {
				t.Errorf("address %q, %v", address, err)
			}
		})
	}
}

func TestAttach(t *testing.T) {
	n := critest.NewNode(t)
	id := n.Run(t, n.RunPod(t, "web"), "app", func(c *containerConfig) { c.Stdin, c.StdinOnce = true, true })
	resp, err := n.Attach(t.Context(), &runtimeapi.AttachRequest{
		ContainerId: id,
		Stdin:       true,
		Stdout:      true,
		Stderr:      true,
	})
	if err != nil {
		t.Fatal(err)
	}

	p := n.Engine.Process(id)
	attached := make(chan error, 1)
	var out, errs bytes.Buffer
	go func() {
		attached <- remote(t, resp.GetUrl(), remotecommand.StreamOptions{
			Stdin:  strings.NewReader("question"),
			Stdout: &out,
			Stderr: &errs,
		})
	}()

	// With stdinOnce the program sees the end of its input when that of the first client ends.
	if asked, err := io.ReadAll(p.Stdin); err != nil || string(asked) != "question" {
		t.Errorf("input %q, %v", asked, err)
	}
	_, err = fmt.Fprint(p.Stdout, "answer")
	_, err2 := fmt.Fprint(p.Stderr, "complaint")
	if err := errors.Join(err, err2, p.Exit(0)); err != nil {
		t.Fatal(err)
	}

	if err := <-attached; err != nil {
		t.Errorf("attach: %v", err)
	}
	if out.String() != "answer" || errs.String() != "complaint" {
		t.Errorf("output %q and %q", out.String(), errs.String())
	}
	n.WaitExit(t, id)

	// Output without a newline is logged as part of a line (P).
	for _, want := range []string{"stdout P answer\n", "stderr P complaint\n"} {
		if log := n.ContainerLog(t, id); !strings.Contains(log, want) {
			t.Errorf("log %q lacks %q", log, want)
		}
	}
}

// sizes is a terminal that has the sizes it is given.
type sizes chan remotecommand.TerminalSize

// Next returns the next size.
func (s sizes) Next() *remotecommand.TerminalSize {
	size, ok := <-s
	if !ok {
		return nil
	}
	return &size
}

func TestAttachTerminal(t *testing.T) {
	n := critest.NewNode(t)
	id := n.Run(t, n.RunPod(t, "web"), "app", func(c *containerConfig) { c.Stdin, c.Tty = true, true })
	if c, _ := n.Engine.Container(id); !c.Terminal || n.Engine.Process(id).Stderr != nil {
		t.Errorf("terminal %v; want one, and that it has one output", c.Terminal)
	}

	resp, err := n.Attach(t.Context(), &runtimeapi.AttachRequest{
		ContainerId: id,
		Stdin:       true,
		Stdout:      true,
		Tty:         true,
	})
	if err != nil {
		t.Fatal(err)
	}

	terminal := make(sizes, 1)
	defer close(terminal)

	terminal <- remotecommand.TerminalSize{Width: 100, Height: 30}
	in, typed := io.Pipe()
	attached := make(chan error, 1)
	go func() {
		attached <- remote(t, resp.GetUrl(), remotecommand.StreamOptions{
			Stdin:             in,
			Stdout:            io.Discard,
			Tty:               true,
			TerminalSizeQueue: terminal,
		})
	}()

	critest.Eventually(t, "the terminal has its size", func() bool {
		width, height := n.Engine.Size(id)
		return width == 100 && height == 30
	})
	n.Engine.Process(id).End(0)
	if err := errors.Join(<-attached, typed.Close()); err != nil {
		t.Errorf("attach: %v", err)
	}
}

func TestReopenContainerLog(t *testing.T) {
	n := critest.NewNode(t)
	id := n.Run(t, n.RunPod(t, "web"), "app")
	path := hostPath(t, n, n.Status(t, id).GetLogPath())
	reopen := func(id string) error {
		_, err := n.ReopenContainerLog(t.Context(), &runtimeapi.ReopenContainerLogRequest{ContainerId: id})
		return err
	}

	if err := os.Rename(path, filepath.Join(filepath.Dir(path), "0.log.1")); err != nil {
		t.Fatal(err)
	}
	if err := reopen(id); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintln(n.Engine.Process(id).Stdout, "after"); err != nil {
		t.Fatal(err)
	}

	critest.Eventually(t, "the new log has a line", func() bool { return n.ContainerLog(t, id) == "stdout F after\n" })
	if err := stopContainer(t, n, id, 0); err != nil {
		t.Fatal(err)
	}
	expect(t, reopen(id), codes.FailedPrecondition, "not running")
	expect(t, reopen("0123"), codes.NotFound)
}
