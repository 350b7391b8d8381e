//go:build cluster

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// dockerImage is an image of a stand-in for the Windows base layer and a layer with a file.
const dockerImage = "mullion.local/of-test:v1"

// dockerfile has what a classic build has of each kind: a folder, files of the context and of a container, deletions
// and the registry.
const dockerfile = "FROM " + dockerImage + `
USER ContainerAdministrator
WORKDIR C:\\work
COPY context.txt C:\\work\\
RUN type context.txt& echo made in a build> C:\work\made.txt& mklink /D C:\link C:\work
RUN del C:\app\image.txt& reg add HKLM\Software\Built /v x /d in-a-build /f
CMD ["cmd", "/c", "type C:\\link\\made.txt& type C:\\work\\context.txt& reg query HKLM\\Software\\Built& if exist C:\\app\\image.txt (exit 3) else exit 4"]
`

// TestFieldDocker runs upstream's dockerd.exe and docker.exe, unmodified, on a Windows host without anything else: an
// image is loaded, containers run, have a network and volumes, programs are run in them, they are stopped, killed and
// removed, files are copied, an image is built and another committed. What is left of them is nothing. The host's agent
// is killed below containers (dockerLoss), which go on.
func TestFieldDocker(t *testing.T) {
	needs(t, ownCluster("the test has subnets of its own"),
		dockerProgram("dockerd.exe"), dockerProgram("docker.exe"))

	c := newCluster(t)
	text := "apiVersion: mullion.dev/v1alpha1\nkind: Cluster\nname: mullion-docker\n" + dockerNetworking +
		"nodes:\n- {os: windows, bare: true}\n"
	c.bringUp(t, text, "--wait", "15m") // on a busy machine
	c.dockerService(t, filepath.Join(c.bin, "docker-windows"), "ltsc2025")

	c.docker(t, 0, "Storage Driver: windowsfilter", "info")
	c.docker(t, 7, "hello from", "run", "--rm", "--network", "none", dockerImage, "cmd", "/c", "echo hello from %COMPUTERNAME%& exit 7")
	c.docker(t, 127, "cannot find the file", "run", "--rm", dockerImage, "absent.exe")

	c.dockerNetwork(t)
	c.dockerLife(t)
	c.dockerBuild(t)

	t.Run("loss", c.dockerLoss)

	until(t, time.Minute, func() error {
		for _, dir := range []string{
			filepath.Join(c.data, "nodes", "win-1", "hcs", "scratch"), "/run/mullion/" + c.tag() + "/nodes/win-1/volumes",
		} {
			if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
				return fmt.Errorf("left of the containers: %v, %w", left, err)
			}
		}
		return nil
	})
}

// TestFieldDockerByThePage carries out the guide's page about Docker on a Windows host, from a bare host to docker
// build and docker run, as who has nothing but the page does. The cluster has subnets and a place of its own, which the
// page's has not.
func TestFieldDockerByThePage(t *testing.T) {
	needs(t, ownCluster("the page brings up its own"),
		program("docker-windows/dockerd.exe", "dockerd.exe", "docker-windows"),
		program("docker-windows/docker.exe", "docker.exe", "docker-windows"))

	f := newCluster(t)
	f.downAfter(t)
	folder := filepath.Join(f.home, "page")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}

	const ownSubnets = `name: mullion-dockerpage
networking:
  underlaySubnet: 10.243.0.0/24
  podSubnet: 10.94.0.0/16
  serviceSubnet: 10.194.0.0/16
`
	lines := `set -euo pipefail
mullion() {
  if [ "$1" = up ]; then
    printf '%s' "$OWN_SUBNETS" >>cluster.yaml
    set -- "$@" --wait 15m # on a busy machine
  fi
  command mullion --data-dir "$DATA" "$@"
}
` + script(t, "windows-runtimes.md")
	cmd := exec.CommandContext(t.Context(), "bash", "-c", lines)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "KUBECONFIG="+f.kubeconfig, "PROGRAMS="+filepath.Join(f.bin, "docker-windows"),
		"DATA="+f.data, "OWN_SUBNETS="+ownSubnets, "PATH="+f.path())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the page's lines: %v\n%s", err, out)
	}

	// The folder that a layer below has was moved, and what is in it is in the image.
	for _, want := range []string{"Successfully tagged app:v1", "\nhello", "IPv4 Address"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in what the page's lines print:\n%s", want, out)
		}
	}
}

// waits is a command line of cmd.exe that runs for long.
const waits = "echo it runs& ping -n 900 127.0.0.1 >nul"

// dockerNetwork gives containers addresses of the nat network; one finds another by its name, and has its network.
func (c cluster) dockerNetwork(t *testing.T) {
	t.Helper()
	c.docker(t, 0, "", "run", "-d", "--name", "n1", "-p", "8080:80", dockerImage, "cmd", "/c", waits)
	c.docker(t, 0, "0.0.0.0:8080", "port", "n1")
	address := strings.TrimSpace(c.docker(t, 0, "", "inspect", "-f", "{{.NetworkSettings.Networks.nat.IPAddress}}", "n1"))
	if address == "" {
		t.Error("the container has no address")
	}
	c.docker(t, 0, "Reply from "+address, "run", "--rm", dockerImage, "ping", "-n", "1", address)
	c.docker(t, 0, address, "run", "--rm", dockerImage, "nslookup", "n1")
	c.docker(t, 0, address, "run", "--rm", "--network", "container:n1", dockerImage, "ipconfig")
	c.docker(t, 0, "", "rm", "-f", "n1")
}

// dockerLife leads containers through their lives.
func (c cluster) dockerLife(t *testing.T) {
	t.Helper()
	c.docker(t, 0, "", "run", "-d", "--name", "l1", "-e", "FOO=bar", "-m", "512m", "-v", `C:\context:C:\data:ro`, dockerImage,
		"cmd", "/c", waits)
	c.docker(t, 0, "l1", "ps")
	until(t, time.Minute, func() error {
		if out := c.docker(t, 0, "", "logs", "l1"); !strings.Contains(out, "it runs") {
			return fmt.Errorf("the container's log is %q", out)
		}
		return nil
	})
	c.docker(t, 5, "containeradministrator", "exec", "l1", "cmd", "/c", "whoami& exit 5")
	c.docker(t, 0, "of the context", "exec", "l1", "cmd", "/c", `type C:\data\context.txt& echo %FOO%`)
	c.docker(t, 1, "", "exec", "l1", "cmd", "/c", `echo x> C:\data\no.txt`)
	c.docker(t, 0, "l1", "stats", "--no-stream")
	c.docker(t, 0, "ping.exe", "top", "l1")
	c.docker(t, 128, "not supported", "exec", "-u", "ContainerUser", "l1", "cmd", "/c", "ver")

	// Of a container that runs files come and go, too.
	c.docker(t, 0, "", "cp", `l1:C:\app\image.txt`, `C:\context\running.txt`)
	c.must(t, "node", "exec", "win-1", "--", "cmd", "/c", "type", `C:\context\running.txt`)
	c.docker(t, 0, "", "cp", `C:\context\context.txt`, `l1:C:\app\given.txt`)
	c.docker(t, 0, "and more", "exec", "l1", "cmd", "/c", `echo and more>> C:\app\given.txt& type C:\app\given.txt& del C:\app\given.txt`)
	c.docker(t, 0, "", "stop", "l1")
	c.docker(t, 0, "Exited", "ps", "-a")

	// Of a container that does not run files come and go.
	c.docker(t, 0, "", "cp", `l1:C:\app\image.txt`, `C:\context\copied.txt`)
	c.must(t, "node", "exec", "win-1", "--", "cmd", "/c", "type", `C:\context\copied.txt`)
	c.docker(t, 0, "", "cp", `C:\context\context.txt`, `l1:C:\app\added.txt`)
	c.docker(t, 0, "", "start", "l1")
	c.docker(t, 0, "of the context", "exec", "l1", "cmd", "/c", `type C:\app\added.txt& del C:\app\added.txt`)
	c.docker(t, 0, "", "kill", "l1")
	c.docker(t, 0, "Exited (1067)", "ps", "-a")
	c.docker(t, 0, "", "rm", "l1")
	c.docker(t, 0, "container die", "events", "--since", "1h", "--until", "0s")

	c.docker(t, 0, "", "run", "--rm", "-v", `kept:C:\vol`, dockerImage, "cmd", "/c", `echo in a volume> C:\vol\x.txt`)
	c.docker(t, 0, "in a volume", "run", "--rm", "-v", `kept:C:\vol`, dockerImage, "cmd", "/c", `type C:\vol\x.txt`)
	c.docker(t, 0, "", "volume", "rm", "kept")
}

// dockerBuild builds an image, runs it, saves it, and commits what a container of it has changed.
func (c cluster) dockerBuild(t *testing.T) {
	t.Helper()
	c.docker(t, 0, "Successfully tagged built:v1", "build", "-t", "built:v1", `C:\context`)
	out := c.docker(t, 4, "made in a build", "run", "--rm", "built:v1")
	for _, want := range []string{"of the context", "in-a-build"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in what a container of the built image prints:\n%s", want, out)
		}
	}

	c.docker(t, 0, "", "save", "-o", `C:\built.tar`, "built:v1")
	c.docker(t, 0, "", "rmi", "built:v1")
	c.docker(t, 0, "Loaded image: built:v1", "load", "-i", `C:\built.tar`)
	c.docker(t, 4, "in-a-build", "run", "--rm", "built:v1")

	// A registry gives the image back.
	const pushed = "registry.test/built:v1"
	c.docker(t, 0, "", "tag", "built:v1", pushed)
	c.docker(t, 0, "digest: sha256:", "push", pushed)
	c.docker(t, 0, "", "rmi", "built:v1", pushed)
	c.docker(t, 0, "Downloaded newer image", "pull", pushed)
	c.docker(t, 4, "in-a-build", "run", "--rm", pushed)
	c.docker(t, 0, "", "tag", pushed, "built:v1")
	c.docker(t, 0, "", "rmi", pushed)

	c.docker(t, 0, "", "run", "--name", "b1", "built:v1", "cmd", "/c", `echo changed> C:\work\made.txt`)
	c.docker(t, 0, "C Files/work/made.txt", "diff", "b1")
	c.docker(t, 0, "", "commit", "b1", "committed:v1")
	c.docker(t, 0, "changed", "run", "--rm", "committed:v1", "cmd", "/c", `type C:\work\made.txt`)
	c.docker(t, 0, "", "rm", "b1")
	c.docker(t, 0, "", "rmi", "committed:v1", "built:v1")
}

// dockerService puts upstream's programs on the host, has dockerd run as a service with these flags, and loads the
// image, which is for a Windows version.
func (c cluster) dockerService(t *testing.T, programs, windowsVersion string, flags ...string) {
	t.Helper()
	const folder = `C:\docker`
	context := c.file(t, "context.txt", "of the context\r\n")
	for _, dir := range []string{folder, `C:\context`} {
		c.must(t, "node", "exec", "win-1", "--", "cmd", "/c", "mkdir", dir)
	}

	for to, from := range map[string]string{
		folder + `\dockerd.exe`:  filepath.Join(programs, "dockerd.exe"),
		folder + `\docker.exe`:   filepath.Join(programs, "docker.exe"),
		`C:\context\Dockerfile`:  c.file(t, "Dockerfile", dockerfile),
		`C:\context\context.txt`: context,
		`C:\image.tar`:           c.dockerArchive(t, windowsVersion, nil),
	} {
		c.must(t, "node", "cp", from, "win-1:"+to)
	}

	proxy, authority := c.serveAnyRegistry(t, "10.243.0.254", nil)
	c.must(t, "node", "cp", authority, `win-1:C:\ca.crt`)
	c.must(t, "node", "exec", "win-1", "--", "certutil", "-addstore", "Root", `C:\ca.crt`)
	c.must(t, append([]string{
		"node", "exec", "win-1", "--", folder + `\dockerd.exe`, "--register-service", "--https-proxy", "http://" + proxy,
	}, flags...)...)
	c.must(t, "node", "exec", "win-1", "--", "sc", "start", "docker")
	c.prints(t, "Server:", "node", "exec", "win-1", "--", folder+`\docker.exe`, "version")
	c.docker(t, 0, "Loaded image: "+dockerImage, "load", "-i", `C:\image.tar`)
}

// docker runs docker.exe on the host, which has to end with a code and to print a text, and returns what it printed.
func (c cluster) docker(t *testing.T, code int, want string, args ...string) string {
	t.Helper()
	return c.ends(t, code, want, append([]string{"node", "exec", "win-1", "--", `C:\docker\docker.exe`}, args...)...)
}

// dockerArchive builds dockerImage for a Windows version, from a file and programs (by their names there), and returns
// the archive that `docker load` reads.
func (c cluster) dockerArchive(t *testing.T, windowsVersion string, programs map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	app := filepath.Join(folder, "app")
	config := filepath.Join(folder, "image.yaml")
	archive := filepath.Join(folder, "image.tar")
	for name, text := range map[string]string{
		config:                          "target: 'C:\\app'\nworkingDir: 'C:\\app'\nuser: ContainerAdministrator\ncmd: [cmd]\n",
		filepath.Join(app, "image.txt"): "of the image\r\n",
	} {
		err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600))
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, from := range programs {
		laid(t, map[string]string{filepath.Join(app, name): from})
	}

	c.must(t, "image", "build", app, "-f", config, "-t", dockerImage, "--windows-version", windowsVersion, "-o", archive)
	return archive
}
