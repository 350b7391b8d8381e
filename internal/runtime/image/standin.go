package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/runtime/imagebuild"
	"mullion.dev/mullion/internal/windows/winver"
	"mullion.dev/mullion/internal/windows/wire/ourprograms"
)

// base is an image that another can stand in for.
type base struct {
	// user is the user that its containers run as; "" is the runtime's choice, ContainerAdministrator.
	user string
	// iis says that the image has a web site by IIS. Its tags name the base image too.
	iis bool
	// of says how a tag names builds of Windows.
	of tagging
	// cmd is the image's command; nil: cmd.exe.
	cmd []string
	// lacks are the programs that people take the image for, and that its stand-in has not.
	lacks string
}

// tagging is how the tags of a repository name builds.
type tagging int

// The ways: the whole tag is a build; a part of it may be one, and the rest a product's version; no tag is one.
const (
	wholeTag tagging = iota
	partOfTag
	anyTag
)

// bases returns the images that have a stand-in, by their repository. microsoft/… are their names until 2018.
// https://learn.microsoft.com/virtualization/windowscontainers/manage-containers/container-base-images,
// https://github.com/microsoft/iis-docker, https://github.com/microsoft/windows-host-process-containers-base-image,
// https://github.com/PowerShell/PowerShell-Docker, https://github.com/dotnet/dotnet-docker,
// https://github.com/microsoft/dotnet-framework-docker
func bases() map[string]base {
	const user = "ContainerUser"
	dotnet := base{
		user:  user,
		of:    partOfTag,
		lacks: "dotnet.exe and .NET's libraries",
	}
	framework := base{of: partOfTag, lacks: ".NET Framework"}

	return map[string]base{
		"mcr.microsoft.com/windows/nanoserver":     {user: user},
		"mcr.microsoft.com/windows/servercore":     {},
		"mcr.microsoft.com/windows/servercore/iis": {iis: true},
		"mcr.microsoft.com/windows/server":         {},
		"mcr.microsoft.com/windows":                {},
		"docker.io/microsoft/nanoserver":           {user: user},
		"docker.io/microsoft/windowsservercore":    {},
		"docker.io/microsoft/iis":                  {iis: true},

		"mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image": {of: anyTag},

		"mcr.microsoft.com/powershell": {user: user, of: partOfTag, cmd: []string{"pwsh.exe"}, lacks: "pwsh.exe"},

		"mcr.microsoft.com/dotnet/runtime":           dotnet,
		"mcr.microsoft.com/dotnet/aspnet":            dotnet,
		"mcr.microsoft.com/dotnet/sdk":               dotnet,
		"mcr.microsoft.com/dotnet/framework/runtime": framework,
		"mcr.microsoft.com/dotnet/framework/aspnet":  framework,
		"mcr.microsoft.com/dotnet/framework/sdk":     framework,
		"mcr.microsoft.com/dotnet/framework/wcf":     framework,
	}
}

// Tags of the image of IIS are windowsservercore-ltsc2022 and the like, and latest, which is for every build.
const (
	iisTag = "windowsservercore-"
	latest = "latest"
)

// sites returns the files of the image of IIS: a page, and the folder by which a container gets Mullion's W3SVC.
func sites() map[string]string {
	return map[string]string{
		"inetpub/wwwroot/iisstart.htm":         ourprograms.Page,
		"Windows/System32/inetsrv/mullion.txt": "Mullion's W3SVC stands in for IIS in this image. It serves static files alone.\r\n",
	}
}

// StandIn describes the image that can stand in for ref, a full reference; false: ref is not in the table, or for no
// build of the catalogue. Tags of base images are names of a build (ltsc2022, 1809) or versions of it
// (10.0.20348.2762), with or without the architecture. The image of IIS has files, those of sites, the others have
// none.
func StandIn(ref string) (spec imagebuild.Spec, files map[string]string, ok bool) {
	named, err := reference.ParseNamed(ref)
	if err != nil {
		return imagebuild.Spec{}, nil, false
	}
	of, known := bases()[named.Name()]
	tagged, ok := named.(reference.Tagged)
	if _, digested := named.(reference.Digested); !known || !ok || digested {
		return imagebuild.Spec{}, nil, false
	}

	spec = imagebuild.Spec{
		Tags: []string{ref},
		Cmd:  of.cmd,
		User: of.user,
	}
	if spec.Cmd == nil {
		spec.Cmd = []string{`c:\windows\system32\cmd.exe`}
	}

	if of.lacks != "" {
		spec.Labels = map[string]string{LabelLacks: of.lacks}
	}
	if !of.named(&spec, strings.TrimSuffix(tagged.Tag(), "-amd64")) {
		return imagebuild.Spec{}, nil, false
	}

	if of.iis {
		files = sites()
		spec.Cmd, spec.Entrypoint = nil, []string{`C:\ServiceMonitor.exe`, "w3svc"}
		spec.ExposedPorts = []string{"80/tcp"}
	}

	return spec, files, true
}

// LabelLacks is the label of a stand-in that says what the image that it stands in for has, and it has not.
const LabelLacks = "dev.mullion.image.lacks"

// named takes from a tag for which builds the image is, and reports whether it can be for Windows at all.
func (b base) named(spec *imagebuild.Spec, tag string) bool {
	switch {
	case b.of == anyTag, b.iis && tag == latest:
		return true
	case b.of == partOfTag:
		return b.namedInPart(spec, tag)
	}

	if b.iis {
		var ok bool
		if tag, ok = strings.CutPrefix(tag, iisTag); !ok {
			return false
		}
	}

	build, err := winver.Lookup(tag)
	if err != nil {
		return false
	}
	spec.OSVersions = []string{build.Name}
	return true
}

// namedInPart looks for a build among the parts of a tag: 8.0-nanoserver-ltsc2022, 4.8-windowsservercore-ltsc2019. A
// tag without one is for every build, unless it names another system's distribution.
func (b base) namedInPart(spec *imagebuild.Spec, tag string) bool {
	for part := range strings.SplitSeq(tag, "-") {
		switch {
		case buildPart.MatchString(part):
			build, err := winver.Lookup(part)
			if err != nil {
				return false
			}
			spec.OSVersions = []string{build.Name}

		case part == "windowsservercore":
			spec.User = ""
		case part != "nanoserver" && !versionPart.MatchString(part):
			return false
		}
	}

	return true
}

// The parts of a tag: a build as the catalogue names it; a version of a product, with what previews have. What is
// neither, as jammy and alpine3.20, names a distribution of Linux.
var (
	buildPart   = lazyregexp.New(`^(ltsc[0-9]{4}|[0-9]{4}|[0-9]{2}[hH][12])$`)
	versionPart = lazyregexp.New(`^(latest|lts|stable|preview|rc|[0-9]+(\.[0-9]+)*|(preview|rc)\.[0-9.]+)$`)
)

// Lacks says what an image lacks that stands in for another; "": nothing, or it stands in for none.
func (i Info) Lacks() string {
	if !i.StandsIn() {
		return ""
	}
	return i.Config.Labels[LabelLacks]
}

// noStandIn returns what the error of an image whose registry cannot be reached says beside it.
func noStandIn(ref string) string {
	return fmt.Sprintf("Mullion has no image that stands in for it; make one of your program's files by "+
		"`mullion image build FOLDER --tag %s`", ref)
}

// StandsIn reports whether an image was made in place of one that the table has.
func (i Info) StandsIn() bool {
	named := func(ref string) bool {
		_, _, ok := StandIn(ref)
		return ok
	}
	return i.Config.Labels[imagebuild.LabelBase] == imagebuild.BaseStandIn && slices.ContainsFunc(i.RepoTags, named)
}

// errSilent says that a registry did not answer within the time that an image that can be replaced is worth. A firewall
// that drops packets is told from a slow registry by nothing else.
var errSilent = errors.New("the registry does not answer")

// unreachable reports whether an error says that nobody answers at the registry's address, or that there is none: the
// machine is offline, or may not reach it. What a registry answers is not among these.
func unreachable(err error) bool {
	var dns *net.DNSError
	var op *net.OpError
	return errors.Is(err, errSilent) || errors.As(err, &dns) || (errors.As(err, &op) && op.Op == "dial")
}

// makeStandIn stores an image for a base image whose registry cannot be reached. Nothing is lost by one without files:
// Wine takes the place of a base image's files in any case. Pull then finds it without asking the registry again.
func (s *Store) makeStandIn(ctx context.Context, spec imagebuild.Spec, files map[string]string, req Request) (
	_ Info, err error,
) {
	dir, err := os.MkdirTemp("", "mullion-base-")
	if err != nil {
		return Info{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := writeFiles(dir, files); err != nil {
		return Info{}, fmt.Errorf("make a stand-in: %w", err)
	}

	built, err := imagebuild.Build(ctx, imagebuild.Options{Dir: dir, Spec: spec})
	if err != nil {
		return Info{}, err
	}

	r, w := io.Pipe()
	go func() { w.CloseWithError(built.WriteArchive(w)) }()
	_, err = s.Load(ctx, r, LoadOptions{Local: true, Unpinned: true})
	_ = r.CloseWithError(io.ErrClosedPipe) // ends the writer where Load has not read all
	if err != nil {
		return Info{}, fmt.Errorf("make a stand-in: %w", err)
	}

	info, err := s.GetFor(ctx, spec.Tags[0], req.Handler)
	if errdefs.IsNotFound(err) { // as of an index without a manifest for the node's build
		var offered []ocispec.Platform
		for _, v := range built.OSVersions {
			offered = append(offered, ocispec.Platform{
				OS:           built.OS,
				Architecture: "amd64",
				OSVersion:    v,
			})
		}

		err = noMatch(offered, s.cfg.OSVersion, s.isolation(req.Handler))
	}

	req.Progress(Progress{Step: "skip", Note: "the registry cannot be reached; " + standsIn(spec, files)})
	return info, err
}

// standsIn says what stands in for an image.
func standsIn(spec imagebuild.Spec, files map[string]string) string {
	if len(files) > 0 {
		return "an image with Mullion's server of static files stands in for IIS"
	}
	if lacks := spec.Labels[LabelLacks]; lacks != "" {
		return "an image without files stands in, so without " + lacks
	}
	return "an image without files stands in"
}

// writeFiles writes files, by their names below a folder.
func writeFiles(dir string, files map[string]string) error {
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
