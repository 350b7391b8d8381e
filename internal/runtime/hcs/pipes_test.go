package hcs

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/windows/wire/piperelay"
)

// sayingPipe is a pipe of the host that says who asks for which, and ends.
func sayingPipe(_ context.Context, user piperelay.User, pipe string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	go func() {
		_, _ = io.WriteString(theirs, string(user)+" "+pipe+"\n")
		_ = theirs.Close()
	}()
	return ours, nil
}

// pipesFolder returns the folder that a container sees the sockets of its pipes in.
func pipesFolder(t *testing.T, c engine.Container) string {
	t.Helper()
	i := slices.IndexFunc(c.SystemFiles, func(b engine.BindMount) bool { return b.Target == "/run/mullion-pipes" })
	if i < 0 {
		t.Fatalf("the container does not see its pipes: %+v", c.SystemFiles)
	}
	return c.SystemFiles[i].Source
}

// pipeSays returns the line that a container's first pipe says, or the error.
func pipeSays(t *testing.T, folder string) string {
	t.Helper()
	dir, err := os.Open(folder) // whose path may be too long for an address
	if err != nil {
		return err.Error()
	}
	defer dir.Close()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "unix", "/proc/self/fd/"+strconv.Itoa(int(dir.Fd()))+"/0")
	if err != nil {
		return err.Error()
	}

	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(line)
}

// TestMappedPipes: a container has a pipe of the host, by documents of both versions, also after a restart of the
// service, until it ends.
func TestMappedPipes(t *testing.T) {
	for name, change := range map[string]struct {
		version int
		user    string
		want    string
	}{
		"version two": {2, "ContainerUser", `ContainerUser \\.\pipe\docker_engine`},
		"version one": {1, "", `ContainerAdministrator \\.\pipe\docker_engine`},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.stop()
			h.config.HostPipe = sayingPipe
			h.begin(t)

			pipes := []any{map[string]string{"HostPath": `\\.\pipe\docker_engine`, "ContainerPipeName": "engine"}}
			text := h.document(t, map[string]any{"Container.MappedPipes": pipes})
			if change.version == 1 {
				text = h.versionOne(t, map[string]any{"MappedPipes": pipes})
			}
			h.ok(t, "HcsCreateComputeSystem", "c1", text)
			h.ok(t, "HcsStartComputeSystem", "c1")
			h.ok(t, "HcsCreateProcess", "c1", `{"CommandLine":"x.exe","User":"`+change.user+`"}`)

			spec := h.engine.Created[0]
			at := slices.Index(spec.Args, "--pipes")
			if at < 0 || !strings.Contains(spec.Args[at+1], `"\\.\pipe\engine" "\\?\unix\run\mullion-pipes\0"`) {
				t.Errorf("PID 1 is %q", spec.Args)
			}
			folder := pipesFolder(t, spec)
			if got := pipeSays(t, folder); got != change.want {
				t.Errorf("the pipe says %q, want %q", got, change.want)
			}

			h.stop()
			h.begin(t)
			if got := pipeSays(t, folder); got != change.want {
				t.Errorf("with the next service the pipe says %q, want %q", got, change.want)
			}

			opened := h.ok(t, "HcsOpenComputeSystem", "c1")
			h.ok(t, "HcsTerminateComputeSystem", "c1")
			event(t, opened.Events)
			if left, err := os.ReadDir(h.cfg.RunDir); len(left) > 0 || err != nil {
				t.Errorf("left of the compute system: %v, %v", left, err)
			}
		})
	}
}

// TestPipesThatAreRefused: what is no name of a pipe is refused, and all pipes are without a host that has some.
func TestPipesThatAreRefused(t *testing.T) {
	h := newHost(t)
	document := func(host, container, kind string) string {
		return h.document(t, map[string]any{"Container.MappedPipes": []any{
			map[string]string{"HostPath": host, "ContainerPipeName": container, "HostPathType": kind},
		}})
	}
	h.refused(t, NotSupported, "HcsCreateComputeSystem", "c1", document(`\\.\pipe\a`, "a", ""))

	h.stop()
	h.config.HostPipe = sayingPipe
	h.begin(t)
	h.refused(t, NotSupported, "HcsCreateComputeSystem", "c1", document(`\\.\pipe\a`, "a", "VirtualSmbPipeName"))
	for _, names := range [][2]string{
		{`C:\pipe`, "a"}, {`\\.\pipe\a`, ""}, {"", "a"}, {`\\.\pipe\a`, `a" --event "b`}, {"\\\\.\\pipe\\a\nx", "a"}, {`\\.\pipe\a`, `a\`},
	} {
		h.refused(t, InvalidArg, "HcsCreateComputeSystem", "c1", document(names[0], names[1], ""))
	}
}
