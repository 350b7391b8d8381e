package cri_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/cri/critest"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/windows/wire/piperelay"
)

// hostPipes is a host on which each pipe says who asks for which, and echoes then. The pipe "gone" is not there.
func hostPipes(c *cri.Config) {
	c.HostPipe = func(_ context.Context, user piperelay.User, pipe string) (net.Conn, error) {
		if strings.HasSuffix(pipe, "gone") {
			return nil, errors.New("no such pipe")
		}
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			_, _ = io.WriteString(theirs, string(user)+" "+pipe+"\n")
			_, _ = io.Copy(theirs, theirs)
		}()
		return ours, nil
	}
}

func withPipes(names ...string) func(*containerConfig) {
	return func(c *containerConfig) {
		for _, name := range names {
			c.Mounts = append(c.Mounts, &runtimeapi.Mount{
				HostPath:      `\\.\pipe\` + name,
				ContainerPath: `\\.\pipe\my ` + name,
			})
		}
	}
}

// messageTarget is where the kubelet mounts the file for a container's termination message: as its last mount.
const messageTarget = "c:/dev/termination-log"

// withMessage has the mount for the termination message.
func withMessage() func(*containerConfig) {
	return func(c *containerConfig) {
		c.Annotations = map[string]string{"io.kubernetes.container.terminationMessagePath": "/dev/termination-log"}
		c.Mounts = append(c.Mounts, &runtimeapi.Mount{HostPath: `C:\message`, ContainerPath: messageTarget})
	}
}

// folderOfPipes returns where the sockets of a container's pipes are on the machine.
func folderOfPipes(t *testing.T, n *critest.Node, id string) string {
	t.Helper()
	c, _ := n.Engine.Container(id)
	i := slices.IndexFunc(c.SystemFiles, func(b engine.BindMount) bool { return b.Target == "/run/mullion-pipes" })
	if i < 0 {
		t.Fatalf("the container does not see its pipes' sockets: %+v", c.SystemFiles)
	}
	return c.SystemFiles[i].Source
}

// heard returns what comes back on a connection to a socket below folder, to which "hello" is sent; "" if it is closed.
func heard(t *testing.T, folder, name string) string {
	t.Helper()
	dir, err := os.Open(folder) // whose path may be too long for an address
	if err != nil {
		return err.Error()
	}
	defer dir.Close()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "unix", "/proc/self/fd/"+strconv.Itoa(int(dir.Fd()))+"/"+name)
	if err != nil {
		return err.Error()
	}

	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}

	_, _ = io.WriteString(conn, "hello\n")
	var lines strings.Builder
	for b := make([]byte, 1); strings.Count(lines.String(), "\n") < 2; {
		if _, err := io.ReadFull(conn, b); err != nil {
			break
		}
		lines.Write(b)
	}

	return lines.String()
}

func TestPipesInAContainer(t *testing.T) {
	n := critest.NewNode(t, hostPipes)
	pod := n.RunPod(t, "web")
	id := n.Create(t, pod, "app", withPipes("one", "gone"), withMessage(), func(c *containerConfig) {
		c.Windows.SecurityContext = &runtimeapi.WindowsContainerSecurityContext{RunAsUsername: "ContainerAdministrator"}
	})

	c, _ := n.Engine.Container(id)
	const command = `C:\Windows\System32\mullion-pipe.exe "--event" "mullion_pipes" "\\.\pipe\my one" ` +
		`"\\?\unix\run\mullion-pipes\0" "\\.\pipe\my gone" "\\?\unix\run\mullion-pipes\1"`
	if i := slices.Index(c.Args, "--pipes"); i < 0 || c.Args[i+1] != command {
		t.Errorf("arguments %q, want --pipes %s", c.Args, command)
	}
	if len(c.Mounts) != 1 || c.Mounts[0].Target != messageTarget {
		t.Errorf("mounts: %+v", c.Mounts)
	}

	folder := folderOfPipes(t, n, id)
	if err := startContainer(t, n, id); err != nil {
		t.Fatal(err)
	}
	const want = "ContainerAdministrator " + `\\.\pipe\one` + "\nhello\n"
	if got := heard(t, folder, "0"); got != want {
		t.Errorf("heard %q, want %q", got, want)
	}

	if got := heard(t, folder, "1"); got != "" {
		t.Errorf("of a pipe that is not there: %q", got)
	}
	n.Stop(t)
	if got := heard(t, folder, "0"); !strings.Contains(got, "refused") {
		t.Errorf("without a server: %q", got)
	}

	n.Start(t)
	if got := heard(t, folder, "0"); got != want {
		t.Errorf("with the next server: heard %q, want %q", got, want)
	}
	if err := stopContainer(t, n, id, 1); err != nil {
		t.Fatal(err)
	}

	critest.Eventually(t, "the pipes end with the container", func() bool {
		return strings.Contains(heard(t, folder, "0"), "refused")
	})
	if _, err := n.RemoveContainer(t.Context(), &runtimeapi.RemoveContainerRequest{ContainerId: id}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder of sockets is left: %v", err)
	}
}

// Whoever is no administrator is no administrator to the host's pipes.
func TestPipesOfAUser(t *testing.T) {
	n := critest.NewNode(t, hostPipes)
	id := n.Run(t, n.RunPod(t, "web"), "app", withPipes("one"), func(c *containerConfig) {
		c.Windows.SecurityContext = &runtimeapi.WindowsContainerSecurityContext{RunAsUsername: "ContainerUser"}
	})
	if got := heard(t, folderOfPipes(t, n, id), "0"); !strings.HasPrefix(got, "ContainerUser ") {
		t.Errorf("heard %q", got)
	}
}

func TestPipesAreRefused(t *testing.T) {
	n := critest.NewNode(t, hostPipes)
	pod := n.RunPod(t, "web")
	for _, tt := range []struct{ name, host, container string }{
		{"folder", `\\.\pipe\a`, `C:\pipe`},
		{"nothing", `\\.\pipe\a`, ""},
		{"quotation-mark", `\\.\pipe\a`, `\\.\pipe\a" --event "b`},
		{"back-slash", `\\.\pipe\a`, `\\.\pipe\a\`},
		{"newline", "\\\\.\\pipe\\a\nContainerAdministrator", `\\.\pipe\a`},
		{"long", `\\.\pipe\` + strings.Repeat("a", 300), `\\.\pipe\a`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config := critest.ContainerConfig("c")
			config.Mounts = []*runtimeapi.Mount{{HostPath: tt.host, ContainerPath: tt.container}}
			expect(t, createContainer(t, n, pod, config), codes.InvalidArgument, "names of pipes")
		})
	}
}
