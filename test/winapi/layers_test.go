//go:build wine

package winapi

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// layers mounts folders of layers at $1, and a folder in one of them that cannot be moved; then the server and the
// program run where they are mounted.
const layers = `set -e
drive=$1 server=$2 root=$3
shift 3
mount -t overlay overlay -o "lowerdir=$root/lower,upperdir=$root/upper,workdir=$root/work,redirect_dir=off" "$drive/layered"
echo "of the upper layer" >"$drive/layered/app/own"
mount --bind "$root/elsewhere" "$drive/layered/busy/sub/point"
"$server" --persistent
code=0
"$@" || code=$?
"$server" -k
exit $code`

// TestRenamesOfLayers runs the test of that name in package prog in a mount namespace with an overlay as containers
// have it, and looks at what is in its upper layer.
func TestRenamesOfLayers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}

	p, root := newPrefix(t), t.TempDir()
	for _, folder := range []string{"upper", "work", "elsewhere", "lower/other/kept", "lower/busy/sub/point"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{
		"app/sub/file", "app/sub/more/file", "app/file", "deep/1/2/3/4/5/6/7/8/9/10/file", "deep/file", "case/sub/file",
		"third/sub/file", "odd/a*b/c:d", "odd/sub/file", "busy/a", "busy/sub/b", "busy/zz/c", "other/kept/file",
	} {
		path := filepath.Join(root, "lower", file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("text of "+file), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	drive := filepath.Join(p.dir, "drive_c")
	if err := os.Mkdir(filepath.Join(drive, "layered"), 0o755); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(drive, "winapi.exe")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", program, "./prog")
	build.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the test program: %v\n%s", err, out)
	}

	for _, flag := range []string{"-k", "-w"} {
		stop := exec.CommandContext(t.Context(), p.wine.Server, flag)
		stop.Env = p.env()
		_ = stop.Run() // it may have ended by itself
	}
	cmd := p.command(t, `C:\winapi.exe`, "-test.v", "-test.run=^TestRenamesOfLayers$", "-test.timeout=60s")
	in := exec.CommandContext(t.Context(), "unshare", append([]string{
		"--mount", "--propagation", "private", "sh", "-c", layers, "sh", drive, p.wine.Server, root,
	}, cmd.Args...)...)
	in.Env, in.Dir = append(cmd.Env, "WINAPI_LAYERED=1"), drive
	inProgram(t, in, 1)

	// The upper layer is whole by itself, as what is made of it has to be.
	for file, want := range map[string]string{
		"app/sub/more/file": "text of app/sub/more/file", "other/deep/1/2/3/4/5/6/7/8/9/10/file": "text of deep/1/2/3/4/5/6/7/8/9/10/file",
		"app/own": "of the upper layer\n",
	} {
		if text, err := os.ReadFile(filepath.Join(root, "upper", file)); err != nil || string(text) != want {
			t.Errorf("%s of the upper layer: %q, %v", file, text, err)
		}
	}
}
