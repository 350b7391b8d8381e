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

	"mullion.dev/mullion/internal/runtime/imagebuild"
	"mullion.dev/mullion/internal/windows/ourprograms"
	"mullion.dev/mullion/internal/windows/winver"
)

// base is one of Microsoft's base images, or the image of IIS on one.
type base struct {
	// user is the user that its containers run as; "" is the runtime's choice, ContainerAdministrator.
	user string
	// iis says that the image has a web site by IIS. Its tags name the base image too.
	iis bool
}

// bases are the images that have a stand-in, by their repository. microsoft/… are their names until 2018.
// https://learn.microsoft.com/virtualization/windowscontainers/manage-containers/container-base-images,
// https://github.com/microsoft/iis-docker
func bases() map[string]base {
	return map[string]base{
		"mcr.microsoft.com/windows/nanoserver":     {user: "ContainerUser"},
		"mcr.microsoft.com/windows/servercore":     {},
		"mcr.microsoft.com/windows/servercore/iis": {iis: true},
		"mcr.microsoft.com/windows/server":         {},
		"mcr.microsoft.com/windows":                {},
		"docker.io/microsoft/nanoserver":           {user: "ContainerUser"},
		"docker.io/microsoft/windowsservercore":    {},
		"docker.io/microsoft/iis":                  {iis: true},
	}
}

// Tags of the image of IIS are windowsservercore-ltsc2022 and the like, and latest, which is for every build.
const (
	iisTag = "windowsservercore-"
	latest = "latest"
)

// sites are the files of the image of IIS: a page, and the folder by which a container gets Mullion's W3SVC.
func sites() map[string]string {
	return map[string]string{
		"inetpub/wwwroot/iisstart.htm":         ourprograms.Page,
		"Windows/System32/inetsrv/mullion.txt": "Mullion's W3SVC stands in for IIS in this image. It serves static files alone.\r\n",
	}
}

// standIn describes the image that can stand in for ref, a full reference; false: ref is no base image of a build of
// the catalogue. Tags are names of a build (ltsc2022, 1809) or versions of it (10.0.20348.2762), with or without the
// architecture. The image of IIS has files, those of sites, the others have none.
func standIn(ref string) (spec imagebuild.Spec, files map[string]string, ok bool) {
	named, err := reference.ParseNamed(ref)
	if err != nil {
		return imagebuild.Spec{}, nil, false
	}
	of, known := bases()[named.Name()]
	tagged, ok := named.(reference.Tagged)
	if _, digested := named.(reference.Digested); !known || !ok || digested {
		return imagebuild.Spec{}, nil, false
	}
	tag := strings.TrimSuffix(tagged.Tag(), "-amd64")
	spec = imagebuild.Spec{Tags: []string{ref}, Cmd: []string{`c:\windows\system32\cmd.exe`}, User: of.user}
	if of.iis && tag != latest {
		if tag, ok = strings.CutPrefix(tag, iisTag); !ok {
			return imagebuild.Spec{}, nil, false
		}
	}
	if !of.iis || tag != latest {
		b, err := winver.Lookup(tag)
		if err != nil {
			return imagebuild.Spec{}, nil, false
		}
		spec.OSVersions = []string{b.Name}
	}
	if of.iis {
		files = sites()
		spec.Cmd, spec.Entrypoint = nil, []string{`C:\ServiceMonitor.exe`, "w3svc"}
		spec.ExposedPorts = []string{"80/tcp"}
	}
	return spec, files, true
}

// StandsIn reports whether an image was made in place of one of Microsoft's base images.
func (i Info) StandsIn() bool {
	named := func(ref string) bool {
		_, _, ok := standIn(ref)
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
	return errors.Is(err, errSilent) || errors.As(err, &dns) || errors.As(err, &op) && op.Op == "dial"
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
			offered = append(offered, ocispec.Platform{OS: built.OS, Architecture: "amd64", OSVersion: v})
		}
		err = noMatch(offered, s.cfg.OSVersion, s.isolation(req.Handler))
	}
	req.Progress(Progress{Step: "skip", Note: "the registry cannot be reached; " + standsIn(files)})
	return info, err
}

// standsIn says what stands in for an image.
func standsIn(files map[string]string) string {
	if len(files) > 0 {
		return "an image with Mullion's server of static files stands in for IIS"
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
