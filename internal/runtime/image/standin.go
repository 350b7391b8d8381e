package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"mullion.dev/mullion/internal/runtime/imagebuild"
	"mullion.dev/mullion/internal/windows/winver"
)

// baseUser is the user that containers of Microsoft's base images run as, by the image's repository; "" is the
// runtime's choice, ContainerAdministrator. microsoft/… are their names until 2018.
// https://learn.microsoft.com/virtualization/windowscontainers/manage-containers/container-base-images
func baseUser() map[string]string {
	return map[string]string{
		"mcr.microsoft.com/windows/nanoserver":  "ContainerUser",
		"mcr.microsoft.com/windows/servercore":  "",
		"mcr.microsoft.com/windows/server":      "",
		"mcr.microsoft.com/windows":             "",
		"docker.io/microsoft/nanoserver":        "ContainerUser",
		"docker.io/microsoft/windowsservercore": "",
	}
}

// standIn describes the image that can stand in for ref, a full reference; false: ref is no base image of a build of
// the catalogue. Tags are names of a build (ltsc2022, 1809) or versions of it (10.0.20348.2762), with or without the
// architecture.
func standIn(ref string) (imagebuild.Spec, bool) {
	named, err := reference.ParseNamed(ref)
	if err != nil {
		return imagebuild.Spec{}, false
	}
	user, known := baseUser()[named.Name()]
	tagged, ok := named.(reference.Tagged)
	if _, digested := named.(reference.Digested); !known || !ok || digested {
		return imagebuild.Spec{}, false
	}
	b, err := winver.Lookup(strings.TrimSuffix(tagged.Tag(), "-amd64"))
	if err != nil {
		return imagebuild.Spec{}, false
	}
	return imagebuild.Spec{
		Tags:       []string{ref},
		OSVersions: []string{b.Name},
		Cmd:        []string{`c:\windows\system32\cmd.exe`},
		User:       user,
	}, true
}

// StandsIn reports whether an image was made in place of one of Microsoft's base images.
func (i Info) StandsIn() bool {
	named := func(ref string) bool {
		_, ok := standIn(ref)
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

// makeStandIn stores an image without files for a base image whose registry cannot be reached. Nothing is lost by that:
// Wine takes the place of a base image's files in any case. Pull then finds it without asking the registry again.
func (s *Store) makeStandIn(ctx context.Context, spec imagebuild.Spec, req Request) (_ Info, err error) {
	dir, err := os.MkdirTemp("", "mullion-base-")
	if err != nil {
		return Info{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
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
	req.Progress(Progress{Step: "skip", Note: "the registry cannot be reached; an image without files stands in"})
	return info, err
}
