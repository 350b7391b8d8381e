// Package folderimage owns how commands make an image of a folder of files: the description that is read there, and
// what flags say in its place. Making images is package imagebuild.
package folderimage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// Description reads file, or without one the description in the folder, if it is there. A single program has none
// beside it.
func Description(dir, file string) (imagebuild.Spec, error) {
	if file != "" {
		return imagebuild.ReadSpec(file)
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return imagebuild.Spec{}, nil
	}
	s, err := imagebuild.ReadSpec(filepath.Join(dir, imagebuild.SpecFile))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return s, err
}

// Build makes an image of the files of a folder, as its description says, unless over says otherwise.
func Build(ctx context.Context, env invoke.Env, dir, file string, over imagebuild.Spec) (*imagebuild.Image, error) {
	s, err := Description(dir, file)
	if err != nil {
		return nil, err
	}

	override(&s.Tags, over.Tags)
	override(&s.OSVersions, over.OSVersions)
	override(&s.Entrypoint, over.Entrypoint)
	override(&s.Cmd, over.Cmd)
	override(&s.Env, over.Env)
	override(&s.ExposedPorts, over.ExposedPorts)
	maps.Copy(labelsOf(&s), over.Labels)
	if over.WorkingDir != "" {
		s.WorkingDir = over.WorkingDir
	}

	if over.User != "" {
		s.User = over.User
	}
	if over.OS != "" {
		s.OS = over.OS
	}

	o := imagebuild.Options{Dir: dir, Spec: s}
	if o.Created, err = SourceDate(env); err != nil {
		return nil, err
	}
	return imagebuild.Build(ctx, o)
}

// parseEpoch reads seconds since 1970.
func parseEpoch(epoch string) (time.Time, error) {
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("read SOURCE_DATE_EPOCH: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// labelsOf returns the labels of a description, to be added to.
func labelsOf(s *imagebuild.Spec) map[string]string {
	if s.Labels == nil {
		s.Labels = map[string]string{}
	}
	return s.Labels
}

func override(field *[]string, with []string) {
	if len(with) > 0 {
		*field = with
	}
}

// SourceDate returns the time in an image: SOURCE_DATE_EPOCH, or the start of 1970.
func SourceDate(env invoke.Env) (time.Time, error) {
	epoch := env.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		return time.Time{}, nil
	}
	return parseEpoch(epoch)
}
