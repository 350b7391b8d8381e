package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// plugin is the name of the checker as a program of its own, which kubectl finds as its plugin.
const plugin = "kubectl-mullion"

// platform is what a plugin is built for.
type platform struct{ os, arch string }

// platforms returns those that hack/release.sh builds for. The words are Go's, which krew uses too.
func platforms() []platform {
	var all []platform
	for _, os := range []string{"linux", "darwin", "windows"} {
		for _, arch := range []string{"amd64", "arm64"} {
			all = append(all, platform{os, arch})
		}
	}
	return all
}

// program returns the plugin's file name.
func (p platform) program() string {
	if p.os == "windows" {
		return plugin + ".exe"
	}
	return plugin
}

// pluginParcel returns the plugin for one platform, with the licences of what it was built from.
func (r release) pluginParcel(made string, p platform) (parcel, error) {
	file := filepath.Join(r.bin, "plugin", p.os+"-"+p.arch, p.program())
	if _, err := os.Stat(file); err != nil {
		return parcel{}, fmt.Errorf("%s is not there: run make release", file)
	}
	made = filepath.Join(made, p.os+"-"+p.arch)
	if err := os.Mkdir(made, 0o700); err != nil {
		return parcel{}, err
	}

	of := parcel{
		name:    plugin,
		version: r.version,
		folder:  strings.Join([]string{plugin, strings.TrimPrefix(r.version, "v"), p.os, p.arch}, "-"),
		entries: []entry{{path: p.program(), source: file, mode: 0o755}},
	}

	papers, err := r.papers(made, &of)
	if err != nil {
		return parcel{}, err
	}
	for _, e := range papers {
		e.path = filepath.Base(e.path)
		of.entries = append(of.entries, e)
	}

	sortEntries(of.entries)
	return of, nil
}

// plugins writes the plugin for each platform, and if it is known from where people will get these files, krew's
// manifest too.
func (r release) plugins(made string) (files []string, err error) {
	manifest := krewManifest{Version: r.version}
	for _, p := range platforms() {
		of, err := r.pluginParcel(made, p)
		if err != nil {
			return nil, err
		}
		file, err := r.tarball(of)
		if err != nil {
			return nil, err
		}

		sum, err := sha256Of(file)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
		manifest.Platforms = append(manifest.Platforms, krewPlatform{
			OS: p.os, Arch: p.arch, URI: strings.TrimSuffix(r.url, "/") + "/" + filepath.Base(file), Sum: sum,
			Folder: of.folder, Program: p.program(),
		})
	}

	if r.url == "" {
		return files, nil
	}
	file := filepath.Join(r.dist, "mullion.yaml") // krew wants the name of the plugin
	return append(files, file), r.create(file, func(w io.Writer) error { return krewText.Execute(w, manifest) })
}

// krewManifest is what krew has to know of a plugin
// (https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/).
type krewManifest struct {
	Version   string
	Platforms []krewPlatform
}

type krewPlatform struct{ OS, Arch, URI, Sum, Folder, Program string }

var krewText = template.Must(template.New("krew").Parse(`apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: mullion
spec:
  version: {{.Version}}
  homepage: https://mullion.dev
  shortDescription: Check manifests for Windows nodes
  description: |
    Says what in manifests, Helm charts' output and kustomizations does not work on Windows nodes, why, and what to do.
    It needs no cluster.
  platforms:
{{- range .Platforms}}
  - selector:
      matchLabels:
        os: {{.OS}}
        arch: {{.Arch}}
    uri: {{.URI}}
    sha256: {{.Sum}}
    bin: {{.Program}}
    files:
    - from: {{.Folder}}/*
      to: .
{{- end}}
`))

// sha256Of returns the checksum of a file, in hexadecimal.
func sha256Of(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}
