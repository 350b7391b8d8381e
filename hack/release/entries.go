package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
)

// entry is a file or a link of the release.
type entry struct {
	// path is below the prefix, for example "lib/mullion/mullion".
	path string
	// source is the file; link, of a link, is what it says.
	source, link string
	mode         fs.FileMode
}

// lib is where all programs lie, beside each other.
const lib = "lib/mullion"

// programs returns the files that a cluster needs beside Kubernetes', as `make build sample` leaves them in bin.
func (r release) programs() ([]entry, error) {
	return r.found("make build sample", "mullion", "mullion-node", "mullion-init", "mullion-pause", "mullion-nat", "mullion-vm", "kubectl-mullion",
		"containerd", "containerd-shim-runc-v2", "runc", "coredns", "metrics-server", "webserver.tar", "win-webserver.yaml",
		"cni/*", "linux/*", "windows/*.exe", "windows/shim/*.dll", "windows/shim/*.exe")
}

// bundle returns the files of a bundle of Kubernetes, as `make bundle` leaves them in bin.
func (r release) bundle(version string) ([]entry, error) {
	dir := "kubernetes/" + version
	return r.found("make bundle VERSION="+version, dir+"/server/bin/*", dir+"/node/bin/*")
}

// e2e returns the files of Kubernetes' e2e tests, as `make e2e` leaves them in bin.
func (r release) e2e() ([]entry, error) {
	patterns := []string{"e2e/e2e.test", "e2e/data/*.*", "e2e/data/*/*"}
	for _, name := range []string{"agnhost", "busybox", "consume-cpu", "resource-consumer"} {
		patterns = append(patterns, "e2e/linux/"+name, "e2e/windows/"+name+".exe")
	}
	return r.found("make e2e", patterns...)
}

// found returns the files of bin of these patterns. Each has to have one, which make leaves there.
func (r release) found(made string, patterns ...string) ([]entry, error) {
	var all []entry
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(r.bin, pattern))
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s is not there: run %s", filepath.Join(r.bin, pattern), made)
		}

		for _, file := range found {
			e, err := r.program(file)
			if err != nil {
				return nil, err
			}
			all = append(all, e)
		}
	}

	return all, nil
}

// program returns the entry of a file of bin. A link to a file beside it stays one.
func (r release) program(file string) (entry, error) {
	name, err := filepath.Rel(r.bin, file)
	if err != nil {
		return entry{}, err
	}
	e := entry{path: path.Join(lib, filepath.ToSlash(name)), mode: 0o644}
	if to, err := os.Readlink(file); err == nil && filepath.Base(to) == to {
		e.link = to
		return e, nil
	}

	e.source = file
	info, err := os.Stat(file)
	if err != nil {
		return entry{}, err
	}
	if info.Mode()&0o100 != 0 {
		e.mode = 0o755
	}

	return e, nil
}

// links returns what lies on PATH.
func links() []entry {
	var all []entry
	for _, name := range []string{"mullion", "kubectl-mullion"} {
		all = append(all, entry{path: "bin/" + name, link: "../" + lib + "/" + name})
	}
	return all
}

// documents are made in the folder made: completions and manual pages.
func (r release) documents(ctx context.Context, made string) ([]entry, error) {
	var all []entry
	for shell, file := range map[string]string{
		"bash": "share/bash-completion/completions/mullion", "zsh": "share/zsh/vendor-completions/_mullion",
		"fish": "share/fish/vendor_completions.d/mullion.fish",
	} {
		text, err := exec.CommandContext(ctx, filepath.Join(r.bin, "mullion"), "completion", shell).Output()
		if err != nil {
			return nil, fmt.Errorf("mullion completion %s: %w", shell, err)
		}

		source := filepath.Join(made, shell)
		if err := os.WriteFile(source, text, 0o600); err != nil {
			return nil, err
		}
		all = append(all, entry{
			path:   file,
			source: source,
			mode:   0o644,
		})
	}

	pages, err := r.manual(made)
	if err != nil {
		return nil, err
	}
	return append(all, pages...), nil
}

// pages returns the files of docs that a person reads, below the repository's folder: README.md and messages name them.
func (r release) pages() ([]string, error) {
	var all []string
	for _, pattern := range []string{"docs/*.md", "docs/*.svg", "docs/guide/*.md", "docs/compat/*.md", "docs/conformance/*.txt"} {
		found, err := filepath.Glob(filepath.Join(r.root, pattern))
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: there is no such page in %q", pattern, r.root)
		}

		for _, file := range found {
			name, err := filepath.Rel(r.root, file)
			if err != nil {
				return nil, err
			}
			all = append(all, filepath.ToSlash(name))
		}
	}

	return all, nil
}

// papers returns what a parcel has in share/doc: texts of the repository, and, made in the folder made, the bill of
// materials and the licences of its programs. It sets the parcel's licence.
func (r release) papers(made string, p *parcel, texts ...string) ([]entry, error) {
	modules, err := readModules(p.entries)
	if err != nil {
		return nil, fmt.Errorf("package %s: %w", p.name, err)
	}
	from, err := findSources()
	if err != nil {
		return nil, err
	}

	if p.licence, err = from.expressionOf(modules); err != nil {
		return nil, fmt.Errorf("package %s: %w", p.name, err)
	}

	var all []entry
	doc := "share/doc/" + p.name + "/"
	for _, name := range append(texts, "LICENSE") {
		all = append(all, entry{
			path:   doc + name,
			source: filepath.Join(r.root, name),
			mode:   0o644,
		})
	}

	for name, write := range map[string]func(file string) error{
		"sbom.spdx.json":  func(file string) error { return r.writeSBOM(file, *p, modules, from) },
		"THIRD-PARTY.txt": func(file string) error { return from.writeLicences(file, modules) },
	} {
		source := filepath.Join(made, p.name+"-"+name)
		if err := write(source); err != nil {
			return nil, err
		}
		all = append(all, entry{
			path:   doc + name,
			source: source,
			mode:   0o644,
		})
	}

	return all, nil
}

// manual returns the manual pages, compressed as distributions have them.
func (r release) manual(made string) ([]entry, error) {
	pages, err := filepath.Glob(filepath.Join(r.man, "*.1"))
	if err != nil {
		return nil, err
	}
	if len(pages) == 0 {
		return nil, fmt.Errorf("%s has no manual pages", r.man)
	}

	var all []entry
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}

		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		if _, err := w.Write(text); err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}

		source := filepath.Join(made, filepath.Base(page)+".gz")
		if err := os.WriteFile(source, z.Bytes(), 0o600); err != nil {
			return nil, err
		}
		all = append(all, entry{
			path:   "share/man/man1/" + filepath.Base(source),
			source: source,
			mode:   0o644,
		})
	}

	return all, nil
}

func sortEntries(all []entry) {
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.path, b.path) })
}
