//go:build wine

package cri

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/containerd/containerd/v2/client"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/hostservices/keeper"
	"mullion.dev/mullion/internal/hostservices/smb"
	"mullion.dev/mullion/internal/node/winhost"
	"mullion.dev/mullion/internal/runtime/cri/stream"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/windows/wine"
	"mullion.dev/mullion/internal/windows/winver"
)

const (
	nodeName  = "test-win"
	namespace = "mullion-test"
	testImage = "mullion.test/winprog:1"
)

// machine is what all tests share: containerd, the Wine system layer, the image.
type machine struct {
	dir        string // removed at the end
	run        string
	system     *wine.System
	layers     []string
	containerd *exec.Cmd
	socket     string
	build      winver.Build
	program    v1.Layer // C:\app\winprog.exe
	err        error
}

var (
	shared     machine
	sharedOnce sync.Once
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "keeper" {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if err := stream.Serve(ctx, os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}

	if len(os.Args) == 3 && os.Args[1] == "host-init" {
		host, err := winhost.Load(os.Args[2])
		if err == nil {
			err = winhost.Init(host)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}

		return
	}

	if len(os.Args) > 1 && os.Args[1] == keeper.Shares {
		if err := smb.KeepTree(os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}

	code := m.Run()
	if err := shared.down(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// theMachine sets the shared parts up once.
func theMachine(tb testing.TB) *machine {
	tb.Helper()
	if os.Geteuid() != 0 {
		tb.Fatal("these tests need root")
	}
	sharedOnce.Do(func() { shared.err = shared.up() })
	if shared.err != nil {
		tb.Fatalf("set up machine: %v", shared.err)
	}
	return &shared
}

// root returns the repository.
func root() string {
	dir, _ := os.Getwd()
	return filepath.Join(dir, "..", "..")
}

func (m *machine) up() error {
	var err error
	if m.dir, err = os.MkdirTemp("", "mullion-cri-test-"); err != nil {
		return err
	}
	// runc walks to the task's root file system as an unprivileged user.
	if err := os.Chmod(m.dir, 0o711); err != nil {
		return err
	}

	m.run = filepath.Join(m.dir, "run")
	if m.build, err = winver.Lookup(winver.Default()); err != nil {
		return err
	}
	if err := m.prepareWine(); err != nil {
		return fmt.Errorf("prepare wine: %w", err)
	}

	if err := m.startContainerd(); err != nil {
		return fmt.Errorf("start containerd: %w", err)
	}
	return m.loadImage()
}

func (m *machine) prepareWine() error {
	initBinary := filepath.Join(m.dir, "mullion-init")
	if err := compile(context.Background(), "linux", "./cmd/mullion-init", initBinary); err != nil {
		return err
	}

	opts := wine.Options{
		Dir:        filepath.Join(m.dir, "wine"),
		InitBinary: initBinary,
		Builds:     []winver.Build{m.build},
	}
	if dir := os.Getenv("MULLION_TEST_WINE_DIR"); dir != "" {
		opts.Dir = dir // keeps the layer between runs
	}

	opts.ShimDir = filepath.Join(root(), "bin", "windows", "shim")
	if dir := os.Getenv("MULLION_TEST_SHIM_DIR"); dir != "" {
		opts.ShimDir = dir
	}

	if !exists(filepath.Join(opts.ShimDir, "mullion-run.exe")) {
		return fmt.Errorf("mullion-run.exe is missing in %s: run make build", opts.ShimDir)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patient(3*time.Minute))
	defer cancel()
	var err error
	if m.system, err = wine.Prepare(ctx, opts); err != nil {
		return err
	}

	m.layers, err = m.system.Layers(m.build)
	return err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (m *machine) startContainerd() error {
	m.socket = filepath.Join(m.run, "containerd.sock")
	cfg := engine.DaemonConfig{
		Root:   filepath.Join(m.dir, "root"),
		State:  filepath.Join(m.run, "state"),
		Socket: m.socket,
	}

	file := filepath.Join(m.run, "config.toml")
	if err := cfg.Write(file); err != nil {
		return err
	}
	bin := filepath.Join(root(), "bin")
	log, err := os.Create(filepath.Join(m.dir, "containerd.log"))
	if err != nil {
		return err
	}

	defer log.Close()
	m.containerd = exec.Command(filepath.Join(bin, "containerd"), "--config", file)
	m.containerd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	m.containerd.Stdout, m.containerd.Stderr = log, log
	if err := m.containerd.Start(); err != nil {
		return err
	}

	deadline := time.Now().Add(patient(20 * time.Second))
	for ; time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		c, err := client.New(m.socket, client.WithTimeout(patient(time.Second)))
		if err != nil {
			continue
		}
		ok, err := c.IsServing(context.Background())
		_ = c.Close()
		if ok && err == nil {
			return nil
		}
	}

	data, _ := os.ReadFile(log.Name())
	return fmt.Errorf("not serving: %s", data)
}

// loadImage builds the Windows test program and loads it as an image.
func (m *machine) loadImage() error {
	exe := filepath.Join(m.dir, "winprog.exe")
	if err := compile(context.Background(), "windows", "./test/cri/testdata/winprog", exe); err != nil {
		return err
	}

	data, err := os.ReadFile(exe)
	if err != nil {
		return err
	}
	l, err := windowsLayer(file{"Files/App/winprog.exe", data})
	if err != nil {
		return err
	}
	m.program = l
	return m.load(testImage, l)
}

// load loads an image of these layers.
func (m *machine) load(ref string, layers ...v1.Layer) error {
	img, err := windowsImage(m.build.Version.String(), layers...)
	if err != nil {
		return err
	}
	tag, err := name.NewTag(ref)
	if err != nil {
		return err
	}

	var archive bytes.Buffer
	if err := tarball.Write(tag, img, &archive); err != nil {
		return err
	}
	store, closer, err := m.images()
	if err != nil {
		return err
	}
	defer closer()
	_, err = store.Load(context.Background(), &archive, image.LoadOptions{})
	return err
}

func (m *machine) images() (*image.Store, func(), error) {
	c, err := client.New(m.socket)
	if err != nil {
		return nil, nil, err
	}
	store, err := image.New(c, namespace, image.Config{
		OSVersion:   m.build.Version.String(),
		SystemFiles: filepath.Join(m.system.Base(), "Files"),
	})
	return store, func() { _ = c.Close() }, err
}

// file is a file of a layer.
type file struct {
	name    string
	content []byte
}

// windowsLayer returns a layer with these files.
func windowsLayer(files ...file) (v1.Layer, error) {
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	for _, f := range files {
		header := &tar.Header{
			Name:     f.name,
			Typeflag: tar.TypeReg,
			Size:     int64(len(f.content)),
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}

		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}

	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(layer.Bytes())), nil
	})
}

// windowsImage returns an image of these layers, whose program is C:\app\winprog.exe.
func windowsImage(osVersion string, layers ...v1.Layer) (v1.Image, error) {
	img, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		return nil, err
	}
	cfg, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}

	cfg = cfg.DeepCopy()
	cfg.OS = "windows"
	cfg.Architecture = "amd64"
	cfg.OSVersion = osVersion
	cfg.Config.Entrypoint = []string{`C:\app\winprog.exe`}
	cfg.Config.Cmd = []string{"hello"}
	cfg.Config.WorkingDir = `C:\app`
	cfg.Config.Env = []string{"From_Image=yes", "Color=red"}

	return mutate.ConfigFile(img, cfg)
}

func (m *machine) down() error {
	if m.containerd != nil {
		_ = m.containerd.Process.Signal(syscall.SIGTERM)
		_ = m.containerd.Wait()
	}
	if m.dir != "" && m.err == nil {
		_ = os.RemoveAll(m.dir)
	}
	return cluster.KillCgroups(context.Background(), cgroupParent())
}

// cgroupParent returns the cgroup of all containers of this run of the tests: down ends whatever is in it, and another
// run beside this one has its own.
func cgroupParent() string { return "/mullion-cri-test-" + strconv.Itoa(os.Getpid()) }
