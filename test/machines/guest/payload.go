package guest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Payload makes the folder that a guest sees as /opt/mullion: the programs and examples of a checkout.
func Payload(checkout, to string) error {
	for _, dir := range []string{"bin", "examples"} {
		if err := linkTree(checkout, dir, to); err != nil {
			return fmt.Errorf("gather what a guest gets of %q: %w", dir, err)
		}
	}
	return nil
}

// AddTests adds to a payload test/e2e and its programs, which a guest needs to run tests: it has no Go.
func AddTests(ctx context.Context, checkout, to string) error {
	if err := linkTree(checkout, "test/e2e", to); err != nil {
		return fmt.Errorf("gather the tests that run in a guest: %w", err)
	}

	images := filepath.Join(to, "test", "images")

	return buildAll(ctx, checkout, []program{
		{"linux", "", []string{
			"test", "-c", "-tags", "cluster", "-o", filepath.Join(to, "test", "e2e", "e2e.test"),
			"./test/e2e",
		}},
		{"windows", "", []string{"build", "-o", filepath.Join(images, "tool", "tool.exe"), "./test/e2e/tool"}},
		{"linux", "", []string{"build", "-o", filepath.Join(images, "linux", "tool"), "./test/e2e/tool"}},
		{"windows", "test/csi", []string{"build", "-o", filepath.Join(images, "csi", "csidriver.exe"), "./csidriver"}},
	})
}

// AddAttacks adds to a payload the suite of attacks, the attacks among the tests of the CRI server, and what they run.
func AddAttacks(ctx context.Context, checkout, to string) error {
	const dir = "test/attack"
	if err := linkTree(checkout, dir, to); err != nil {
		return fmt.Errorf("gather the attacks that run in a guest: %w", err)
	}

	at, cri := filepath.Join(to, dir), filepath.Join(to, "test", "cri")

	return buildAll(ctx, checkout, []program{
		{"linux", "", []string{"test", "-c", "-tags", "cluster", "-o", filepath.Join(at, "attack.test"), "./" + dir}},
		{"linux", "", []string{"build", "-o", filepath.Join(at, "programs", "attack"), "./test/attack/prog"}},
		{"windows", "", []string{"build", "-o", filepath.Join(at, "programs", "attack.exe"), "./test/attack/prog"}},
		{"linux", "", []string{"test", "-c", "-tags", "wine", "-o", filepath.Join(cri, "cri.test"), "./test/cri"}},
		{"linux", "", []string{"build", "-o", filepath.Join(at, "programs", "mullion-init"), "./cmd/mullion-init"}},
		{"windows", "", []string{
			"build", "-o", filepath.Join(at, "programs", "winprog.exe"),
			"./test/cri/testdata/winprog",
		}},
	})
}

// program is one that is compiled for a guest: for which system, in which module's folder, and by which arguments of
// the command go.
type program struct {
	system, module string
	args           []string
}

func buildAll(ctx context.Context, checkout string, all []program) error {
	for _, b := range all {
		env := append(os.Environ(), "CGO_ENABLED=0", "GOARCH=amd64", "GOOS="+b.system)
		args := append([]string{"-C", filepath.Join(checkout, b.module), b.args[0], "-ldflags=-s -w"}, b.args[1:]...)
		if err := run(ctx, env, "go", args...); err != nil {
			return fmt.Errorf("build what tests run in a guest: %w", err)
		}
	}
	return nil
}

// linkTree links the files of a folder of the checkout, except those that only other tests and lint need.
func linkTree(checkout, dir, to string) error {
	return filepath.WalkDir(filepath.Join(checkout, dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(checkout, path)
		if err != nil {
			return err
		}

		switch {
		case rel == "bin/e2e" || rel == "bin/machines" || rel == "bin/plugin":
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(target, filepath.Join(to, rel))

		case rel == "bin/golangci-lint" || rel == "bin/kube-linter" || strings.HasSuffix(rel, ".test"):
			return nil
		}

		return link(path, filepath.Join(to, rel))
	})
}

// link links a file, or copies it where the file systems differ.
func link(from, to string) error {
	if err := os.Link(from, to); err == nil {
		return nil
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, info.Mode().Perm())
}
