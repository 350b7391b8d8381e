//go:build cluster

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// image builds the tests' own programs and their images, and loads them. On a machine without Go, E2E_IMAGES is a
// folder with the programs.
func (f cluster) image(t *testing.T) {
	t.Helper()
	if os.Getenv("E2E_IMAGES") == "" {
		f.buildPrograms(t)
	}

	windows, linux, csi := f.programs()
	for _, args := range [][]string{
		{windows, "-f", "tool/image.yaml"},
		{csi, "-f", "testdata/csidriver/image.yaml"},
		{linux, "--os", "linux", "-t", "mullion.local/e2e-linux:v1", "--env", "PATH=/"},
	} {
		if out, err := f.mullion(t.Context(), t, append([]string{"image", "build"}, args...)...); err != nil {
			t.Fatalf("mullion image build: %v\n%s", err, out)
		}
	}
}

// programs returns the folders of the tests' Windows image and of the CSI driver's image, and the Linux program.
func (f cluster) programs() (windows, linux, csi string) {
	return filepath.Join(f.home, "tool"), filepath.Join(f.home, "linux", "tool"), filepath.Join(f.home, "csi")
}

// buildPrograms builds the programs of the tests' images.
func (f cluster) buildPrograms(t *testing.T) {
	t.Helper()
	windows, linux, csi := f.programs()
	for _, b := range []struct{ system, source, file string }{
		{"windows", "./tool", filepath.Join(windows, "tool.exe")},
		{"linux", "./tool", linux},
		{"windows", csiDriver, filepath.Join(csi, "csidriver.exe")},
	} {
		compile(t, b.system, b.source, b.file)
	}
}

// csiDriver is the folder of the tests' driver.
const csiDriver = "../csi/csidriver"

// agnhost makes the images of upstream's server for nodes of a system: mullion.local/agnhost:v1 for linux,
// mullion.local/agnhost-windows:v1 for windows.
func (f cluster) agnhost(t *testing.T, system string) {
	t.Helper()
	if system == "linux" {
		f.must(t, "image", "build", "--os", "linux", filepath.Join(f.bin, "linux/agnhost"), "-t", "mullion.local/agnhost:v1")
		return
	}
	folder := t.TempDir()
	laid(t, map[string]string{filepath.Join(folder, "agnhost.exe"): filepath.Join(f.bin, "windows/agnhost.exe")})
	f.must(t, "image", "build", folder, "-t", "mullion.local/agnhost-windows:v1")
}

// compile builds the program in a folder, of whatever module, for a system.
func compile(t *testing.T, system, folder, to string) {
	t.Helper()
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", to, ".")
	build.Dir = folder
	build.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
