package image

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"mullion.dev/mullion/internal/runtime/imagebuild"
	"mullion.dev/mullion/internal/windows/winver"
)

// StandIns returns the references of Microsoft's base images of builds that a host accepts, under each tag that names
// one of them, in groups of those that one image stands in for. Upstream's containerd.exe makes no stand-in for an
// image, so it has to have these before. Those of IIS and of products are not among them.
func StandIns(host winver.Build) [][]string {
	var groups [][]string
	all := bases()
	for _, b := range winver.All() {
		if !host.Accepts(b.Version) {
			continue
		}

		byUser := map[string][]string{}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if of := all[name]; of.of == wholeTag && !of.iis {
				for _, tag := range append([]string{b.Name}, b.Aliases...) {
					byUser[of.user] = append(byUser[of.user], name+":"+tag)
				}
			}
		}

		for _, user := range slices.Sorted(maps.Keys(byUser)) {
			groups = append(groups, byUser[user])
		}
	}

	return groups
}

// BuildStandIn makes the image that stands in for references of StandIns, all of one group.
func BuildStandIn(ctx context.Context, refs []string) (_ *imagebuild.Image, err error) {
	if len(refs) == 0 {
		return nil, errors.New("make a stand-in: for no image")
	}
	spec, files, ok := StandIn(refs[0])
	if !ok || len(files) > 0 {
		return nil, fmt.Errorf("make a stand-in: no image without files stands in for %s", refs[0])
	}
	spec.Tags = refs

	empty, err := os.MkdirTemp("", "mullion-base-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(empty)) }()
	return imagebuild.Build(ctx, imagebuild.Options{Dir: empty, Spec: spec})
}
