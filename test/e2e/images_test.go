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
func (c cluster) image(t *testing.T) {
	t.Helper()
	if os.Getenv("E2E_IMAGES") == "" {
		c.buildPrograms(t)
	}

	windows, linux, csi := c.programs()
	for _, args := range [][]string{
		{windows, "-f", "tool/image.yaml"},
		{csi, "-f", "testdata/csidriver/image.yaml"},
		{linux, "--os", "linux", "-t", "mullion.local/e2e-linux:v1", "--env", "PATH=/"},
	} {
		if out, err := c.mullion(t.Context(), t, append([]string{"image", "build"}, args...)...); err != nil {
			t.Fatalf("mullion image build: %v\n%s", err, out)
		}
	}
}

// programs returns the folders of the tests' Windows image and of the CSI driver's image, and the Linux program.
func (c cluster) programs() (windows, linux, csi string) {
	return filepath.Join(c.home, "tool"), filepath.Join(c.home, "linux", "tool"), filepath.Join(c.home, "csi")
}

// buildPrograms builds the programs of the tests' images.
func (c cluster) buildPrograms(t *testing.T) {
	t.Helper()
	windows, linux, csi := c.programs()
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
func (c cluster) agnhost(t *testing.T, system string) {
	t.Helper()
	if system == "linux" {
		c.must(t, "image", "build", "--os", "linux", filepath.Join(c.bin, "linux/agnhost"), "-t", "mullion.local/agnhost:v1")
		return
	}
	folder := t.TempDir()
	laid(t, map[string]string{filepath.Join(folder, "agnhost.exe"): filepath.Join(c.bin, "windows/agnhost.exe")})
	c.must(t, "image", "build", folder, "-t", "mullion.local/agnhost-windows:v1")
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
