// Command kubeopenapi lays out the source of an old version of Kubernetes with the one file that its published module
// lacks, and that upstream's build generates first (build/root/Makefile.generated_files there, gen_openapi): the
// description of the API's kinds. The generator is upstream's own, of the version that Kubernetes pins.
//
//	go run ./hack/kubeopenapi MODULE TO
//
// MODULE is a folder like upstream/cluster/kubernetes-1.20, and TO gets the source. What is there of that version
// stays.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

const (
	kubernetes = "k8s.io/kubernetes"
	generated  = "pkg/generated/openapi"
	file       = "zz_generated.openapi.go"
)

// parts returns what programs are built of.
func parts() []string { return []string{"go.mod", "LICENSE", "cmd", "pkg", "plugin", "third_party"} }

// wanted marks a package whose kinds are described.
var wanted = regexp.MustCompile(`(?m)^// *\+k8s:openapi-gen=true`)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: kubeopenapi MODULE TO")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "kubeopenapi:", err)
		os.Exit(1)
	}
}

func run(module, to string) error {
	found, err := command(module, "list", "-m", "-f", "{{.Version}} {{.Dir}}", kubernetes)
	if err != nil {
		return err
	}
	version, source, _ := strings.Cut(strings.TrimSpace(found), " ")
	mark := filepath.Join(to, ".version")
	if have, err := os.ReadFile(mark); err == nil && string(have) == version {
		return nil
	}

	if source == "" { // not in the module cache yet
		if _, err := command(module, "mod", "download", kubernetes); err != nil {
			return err
		}
		if source, err = command(module, "list", "-m", "-f", "{{.Dir}}", kubernetes); err != nil {
			return err
		}
		source = strings.TrimSpace(source)
	}

	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := layOut(source, to); err != nil {
		return fmt.Errorf("copy the source of %s: %w", version, err)
	}
	if err := generate(module, to); err != nil {
		return fmt.Errorf("generate the description of the API's kinds: %w", err)
	}

	return os.WriteFile(mark, []byte(version), 0o644)
}

// layOut copies the source. What is in the module cache is read-only; the copy is not.
func layOut(source, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}

	for _, part := range parts() {
		from := filepath.Join(source, part)
		info, err := os.Stat(from)
		if err != nil {
			return err
		}

		if !info.IsDir() {
			if err := copyFile(from, filepath.Join(to, part)); err != nil {
				return err
			}
			continue
		}

		err = filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, err := filepath.Rel(source, path)
			if err != nil {
				return err
			}

			if d.IsDir() {
				return os.MkdirAll(filepath.Join(to, name), 0o755)
			}
			return copyFile(path, filepath.Join(to, name))
		})
		if err != nil {
			return err
		}
	}

	return nil
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}

// generate writes the missing file.
func generate(module, to string) error {
	packages, err := marked(module)
	if err != nil {
		return err
	}
	if len(packages) == 0 {
		return errors.New("no package is marked for it")
	}

	tmp, err := os.MkdirTemp("", "kubeopenapi-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	header := filepath.Join(tmp, "header")
	if err := os.WriteFile(header, nil, 0o644); err != nil {
		return err
	}

	name := strings.TrimSuffix(file, ".go")
	_, err = command(module, "run", "k8s.io/kube-openapi/cmd/openapi-gen",
		"-i", strings.Join(packages, ","), "-p", kubernetes+"/"+generated, "-O", name, "-h", header, "-o", tmp,
		"-r", filepath.Join(tmp, "report"))
	if err != nil {
		return err
	}

	return copyFile(filepath.Join(tmp, kubernetes, generated, file), filepath.Join(to, generated, file))
}

// marked returns the packages of Kubernetes whose kinds are described, among those that the programs are made of.
func marked(module string) ([]string, error) {
	// -e: one of them lacks what is to be generated.
	text, err := command(module, "list", "-deps", "-e", "-f", "{{if .Module}}{{.ImportPath}}\t{{.Dir}}{{end}}", "./hyperkube")
	if err != nil {
		return nil, err
	}

	var packages []string
	for line := range strings.Lines(text) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if !strings.HasPrefix(path, "k8s.io/") {
			continue
		}
		sources, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return nil, err
		}

		for _, source := range sources {
			data, err := os.ReadFile(source)
			if err != nil {
				return nil, err
			}
			if wanted.Match(data) {
				packages = append(packages, path)
				break
			}
		}
	}

	return packages, nil
}

// command runs the go command in the module, and returns what it prints.
func command(module string, args ...string) (string, error) {
	c := exec.Command("go", args...)
	c.Dir = module
	c.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0")
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w: %s", args[0], err, strings.TrimSpace(said.String()))
	}
	return out.String(), nil
}
