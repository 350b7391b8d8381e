//go:build wine

package run

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"mullion.dev/mullion/internal/base/testrun"
)

// oddRegistry serves images, and for some names what registries say that do not give one.
func oddRegistry(t *testing.T) (host string) {
	t.Helper()
	inner := registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)))
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		ours := strings.HasPrefix(r.UserAgent(), "go-containerregistry") // who puts the images there
		of := func(what string) bool { return strings.HasPrefix(r.URL.Path, "/v2/"+what+"/") && !ours }
		switch {
		case of("private") && (user != "me" || password != "s3cr3t"):
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
		case of("busy"):
			w.WriteHeader(http.StatusTooManyRequests)
		case of("broken"):
			w.WriteHeader(http.StatusBadGateway)
		case of("garbage"):
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
			_, _ = w.Write([]byte("<html>log on to the hotel's network</html>"))
		default:
			inner.ServeHTTP(w, r)
		}
	}))

	t.Cleanup(web.Close)
	return strings.TrimPrefix(web.URL, "http://")
}

// windowsOf returns a platform of Windows: a processor, and a version.
func windowsOf(processor, version string) v1.Platform {
	return v1.Platform{
		OS:           "windows",
		Architecture: processor,
		OSVersion:    version,
	}
}

// put puts an image without files for a platform into a registry.
func put(t *testing.T, ref string, p v1.Platform) {
	t.Helper()
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS:           p.OS,
		Architecture: p.Architecture,
		OSVersion:    p.OSVersion,
		Config:       v1.Config{Cmd: []string{"cmd", "/c", "ver"}},
		RootFS:       v1.RootFS{Type: "layers", DiffIDs: []v1.Hash{}},
	})
	if err != nil {
		t.Fatal(err)
	}

	named, err := name.ParseReference(ref)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(named, img, remote.WithContext(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// TestRegistryAnswers runs images of a registry: those that a container cannot have, those that the registry does not
// give, and one for which `docker login` has kept the credentials.
func TestRegistryAnswers(t *testing.T) {
	r := theRoom(t)
	host := oddRegistry(t)
	put(t, host+"/team/older:1", windowsOf("amd64", "10.0.17763.6414"))
	put(t, host+"/team/unknown:1", windowsOf("amd64", "10.0.12345.1"))
	put(t, host+"/team/linux:1", v1.Platform{OS: "linux", Architecture: "amd64"})
	put(t, host+"/team/arm:1", windowsOf("arm64", "10.0.26100.1"))
	put(t, host+"/private/app:1", windowsOf("amd64", "10.0.20348.2762"))

	for _, tc := range []struct{ ref, err, remedy string }{
		{"team/unknown:1", "10.0.12345.1", "no Windows of the catalogue has that build"},
		{"team/linux:1", "linux/amd64", "`docker run` runs it"},
		{"team/arm:1", "windows(10.0.26100.1)/arm64", "build it for amd64"},
		{"team/none:1", "not found", ""},
		{"private/app:1", "no basic auth credentials", "`docker login " + host + "`"},
		{"busy/app:1", "429 Too Many Requests", "wait, or log on by `docker login " + host + "`"},
		{"broken/app:1", "502 Bad Gateway", "the registry is at fault"},
		{"garbage/app:1", "invalid character '<'", ""},
	} {
		t.Run(strings.ReplaceAll(tc.ref, "/", "-"), func(t *testing.T) {
			got := r.run(t, "", host+"/"+tc.ref)
			said := strings.Contains(got.err, tc.err) && strings.Contains(got.err, tc.remedy)
			if got.code != 125 || !said || got.out != "" {
				t.Errorf("%+v, want %q and %q", got, tc.err, tc.remedy)
			}
		})
	}

	if got := r.run(t, "", host+"/team/older:1"); got.out != "\nMicrosoft Windows [Version 10.0.17763.6414]\n" {
		t.Errorf("an image of an older build: %+v", got)
	}
	r.withLogin(t, host)
	r.imagesOf(t, host)
}

// withLogin runs an image with the credentials of a folder of Docker's.
func (r *room) withLogin(t *testing.T, host string) {
	t.Helper()
	dir := t.TempDir()
	text := fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, host, base64.StdEncoding.EncodeToString([]byte("me:s3cr3t")))
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := r.command(ctx, "--name", "private", host+"/private/app:1")
	cmd.Env = append(cmd.Env, "DOCKER_CONFIG="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "10.0.20348.2762") {
		t.Errorf("with credentials: %v: %s", err, out)
	}

	err = filepath.WalkDir(r.data, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.Contains(path, "/wine/") {
			return nil //nolint:nilerr // containerd's files come and go
		}
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), "s3cr3t") {
			t.Errorf("the password is in %s", path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// imagesOf lists the images that were pulled of a registry, pulls one more, and removes all.
func (r *room) imagesOf(t *testing.T, host string) {
	t.Helper()
	b := builder{r, filepath.Join(t.TempDir(), "cache")}
	put(t, host+"/team/more:1", windowsOf("amd64", "10.0.20348.1"))
	if out := b.must(t, "image", "pull", "--run", host+"/team/more:1"); !strings.Contains(out, "(10.0.20348.1)") {
		t.Error(out)
	}

	listed := b.must(t, "image", "ls", "--run")
	for ref, want := range map[string]bool{
		"private/app:1": true, "team/older:1": true, "team/more:1": true, "team/linux:1": false, "garbage/app:1": false,
	} {
		if strings.Contains(listed, host+"/"+ref) != want {
			t.Errorf("%s is listed: %v\n%s", ref, !want, listed)
		}
	}

	r.waiting(t, "--name", "uses-image", "--entrypoint", "cmd", host+"/team/more:1", "/c",
		"echo waiting& ping -n 900 127.0.0.1 >nul")
	if out, err := b.run(t, "image", "rm", "--run", host+"/team/more:1"); err == nil || !strings.Contains(out, "is using it") {
		t.Errorf("one that is used: %v: %s", err, out)
	}
	b.must(t, "container", "rm", "-f", "uses-image")

	b.must(t, "image", "rm", "--run", host+"/team/more:1", host+"/private/app:1", host+"/team/older:1", host+"/team/unknown:1")
	if listed := b.must(t, "image", "ls", "--run"); strings.Contains(listed, host) {
		t.Errorf("still there:\n%s", listed)
	}
}

// TestEngineKilled kills the engine in the middle of what it does for a client, and looks for what is left. The client
// of a program that ran says so; another one asks the next engine, for which the container has ended.
func TestEngineKilled(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	r := theRoom(t)
	b := builder{r, filepath.Join(t.TempDir(), "cache")}
	silent, asked := silentOnce(t)
	dir := folderWith(t, "FROM mcr.microsoft.com/windows/servercore:ltsc2022\nRUN echo step of %OS%& ping -n 900 127.0.0.1 >nul")

	for _, tc := range []struct {
		name, busy string // busy is what the client says once the engine is in the middle of it
		args       []string
		said       string // what it says at the end
		succeeds   bool
	}{
		{"exec", "waiting", []string{"container", "exec", "held", `C:\app\prog.exe`, "wait"}, "the engine has ended", false},
		{"stop", "", []string{"container", "stop", "-t", "60", "held"}, "held", true},
		{"pull", "", []string{"image", "pull", "--run", silent + "/team/app:1"}, "not found", false},
		{
			"a RUN of a build", "step of Windows_NT",
			[]string{"image", "build", "--run", "-t", "mullion.local/killed:2", dir},
			"the engine has ended", false,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r.waiting(t, "--name", "held", r.program(), "deaf")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			said := &lines{}
			cmd := b.command(ctx, tc.args...)
			cmd.Stdout, cmd.Stderr = said, said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}

			busy := func() bool { return strings.Contains(said.String(), tc.busy) }
			switch tc.name {
			case "pull":
				busy = asked
			case "stop":
				busy = func() bool { return strings.Contains(r.container(t, "logs", "held").out, "told") }
			}
			if !within(40*time.Second, busy) {
				t.Fatalf("it does not begin: %s", said)
			}

			r.killServer(t)
			if err := cmd.Wait(); (err == nil) != tc.succeeds || ctx.Err() != nil {
				t.Errorf("the client ended with %v, %v: %s", err, ctx.Err(), said)
			}
			if !strings.Contains(said.String(), tc.said) {
				t.Errorf("it says %s", said)
			}

			if got := r.run(t, "", "--rm", r.program()); got.code != 0 || got.out != "hello\n" {
				t.Errorf("the next run: %+v", got)
			}
			b.must(t, "container", "rm", "held")
			for _, pattern := range []string{filepath.Join(b.cache, "build/work/*"), filepath.Join(r.data, "image-*")} {
				if left, err := filepath.Glob(pattern); err != nil || len(left) > 0 {
					t.Errorf("left %v, %v", left, err)
				}
			}
		})
	}
}

// silentOnce is a registry that does not answer the first request, and then has nothing.
func silentOnce(t *testing.T) (host string, wasAsked func() bool) {
	t.Helper()
	asked := &atomic.Bool{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if asked.CompareAndSwap(false, true) {
			<-q.Context().Done()
			return
		}
		http.NotFound(w, q)
	}))

	t.Cleanup(web.Close)
	return strings.TrimPrefix(web.URL, "http://"), asked.Load
}

// killServer kills the engine's server.
func (r *room) killServer(t *testing.T) {
	t.Helper()
	pid := r.process(isServer)
	if pid == 0 {
		t.Fatalf("there is no engine: %v", r.engine())
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}
