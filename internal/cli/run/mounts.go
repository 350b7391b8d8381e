package run

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/single"
)

// mountsAsk reads --volume and --mount.
func (o *options) mountsAsk() ([]single.Mount, error) {
	var mounts []single.Mount
	for _, v := range o.volumes {
		m, err := volumeOf(v)
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, m)
	}

	for _, text := range o.mounts {
		m, err := mountOf(text)
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, m)
	}

	seen := map[string]bool{}
	for _, m := range mounts {
		at := path.Clean(strings.ToLower(strings.ReplaceAll(m.Target, `\`, "/")))
		if seen[at] {
			return nil, engine.Failed(fmt.Errorf("Duplicate mount point: %s", m.Target), "leave one of them out") //nolint:revive,staticcheck // Docker's words
		}
		seen[at] = true
	}

	return mounts, nil
}

// The forms of --volume: a source, a Windows path or a drive, and perhaps a mode; the same without a source, which is a
// volume that nobody names.
var (
	volume    = lazyregexp.New(`^(.+?):([A-Za-z]:(?:[\\/][^:]*)?)(?::([A-Za-z,]+))?$`)
	anonymous = lazyregexp.New(`^([A-Za-z]:(?:[\\/][^:]*)?)(?::([A-Za-z,]+))?$`)
)

// volumeOf reads a value of --volume.
func volumeOf(text string) (single.Mount, error) {
	refuse := func(why string) (single.Mount, error) {
		return single.Mount{}, engine.Failed(fmt.Errorf("--volume %q: %s", text, why),
			`for example: -v ./src:C:\src:ro, or -v data:C:\data`)
	}
	var source, target, mode string
	if parts := anonymous.FindStringSubmatch(text); parts != nil {
		target, mode = parts[1], parts[2]
	} else if parts := volume.FindStringSubmatch(text); parts != nil {
		source, target = parts[1], parts[2]
		mode = parts[3]
	} else {
		return refuse(`it is no folder of this machine or name of a volume, a colon and a Windows path`)
	}

	if mode != "" && mode != "ro" && mode != "rw" {
		return refuse(fmt.Sprintf("the mode %q is neither ro nor rw", mode))
	}
	if strings.HasPrefix(source, ".") || filepath.IsAbs(source) {
		m, err := bindOf(source, target, mode == "ro")
		if err != nil {
			return refuse(err.Error())
		}
		return m, nil
	}

	m, err := namedOf(source, target, mode == "ro")
	if err != nil {
		return refuse(err.Error())
	}
	return m, nil
}

// namedOf returns the mount of a volume; without a name it is one that nobody names.
func namedOf(name, target string, readOnly bool) (single.Mount, error) {
	m := single.Mount{
		Target:    target,
		ReadOnly:  readOnly,
		Anonymous: name == "",
	}
	if name == "" {
		return m, nil
	}
	var err error
	m.Volume, err = single.VolumeName(name)
	return m, err
}

// bindOf returns the mount of a folder or a file of this machine, which has to be there.
func bindOf(source, target string, readOnly bool) (single.Mount, error) {
	source, err := filepath.Abs(source)
	if err != nil {
		return single.Mount{}, err
	}
	if _, err := os.Stat(source); err != nil {
		return single.Mount{}, err
	}

	return single.Mount{
		Source:   source,
		Target:   target,
		ReadOnly: readOnly,
	}, nil
}

// mountWords are the words of --mount by what they mean
// (https://docs.docker.com/engine/storage/volumes/#options-for---mount).
func mountWords() map[string]string {
	return map[string]string{
		"type": "type", "source": "source", "src": "source", "target": "target", "destination": "target", "dst": "target",
		"readonly": "readonly", "ro": "readonly", "volume-nocopy": "volume-nocopy",
	}
}

// mountFields returns the words of a value of --mount.
func mountFields(text string) (map[string]string, error) {
	fields := map[string]string{}
	for field := range strings.SplitSeq(text, ",") {
		key, value, given := strings.Cut(field, "=")
		word := mountWords()[strings.ToLower(key)]
		if word == "" {
			return nil, fmt.Errorf("there is no %q here", key)
		}
		if !given && (word == "readonly" || word == "volume-nocopy") {
			value = "true"
		}
		fields[word] = value
	}
	return fields, nil
}

// mountOf reads a value of --mount, which is a bind mount or a volume.
func mountOf(text string) (single.Mount, error) {
	refuse := func(why string) error {
		return engine.Failed(fmt.Errorf("--mount %q: %s", text, why),
			`for example: --mount type=bind,source=./src,target=C:\src,readonly`)
	}
	fields, err := mountFields(text)
	if err != nil {
		return single.Mount{}, refuse(err.Error())
	}
	m, err := mountOfFields(fields)
	if err != nil {
		return single.Mount{}, refuse(err.Error())
	}
	return m, nil
}

func mountOfFields(fields map[string]string) (single.Mount, error) {
	var none single.Mount
	kind := cmp.Or(fields["type"], "volume")
	switch {
	case kind != "bind" && kind != "volume":
		return none, fmt.Errorf("the type %s is not there; bind and volume are", kind)
	case kind == "bind" && (fields["source"] == "" || fields["target"] == ""):
		return none, errors.New("it needs source and target")
	case fields["target"] == "":
		return none, errors.New("it needs a target")
	case !windowsPath.MatchString(fields["target"]):
		return none, errors.New("the target is to be a Windows path with its drive")
	}

	readOnly, err := truth(fields, "readonly")
	if err != nil {
		return none, err
	}
	noCopy, err := truth(fields, "volume-nocopy")
	if err != nil {
		return none, err
	}

	if kind == "volume" {
		m, err := namedOf(fields["source"], fields["target"], readOnly)
		m.NoCopy = noCopy
		return m, err
	}
	if fields["volume-nocopy"] != "" {
		return none, errors.New("volume-nocopy is for volumes")
	}
	return bindOf(fields["source"], fields["target"], readOnly)
}

// truth reads a word that is true or false.
func truth(fields map[string]string, word string) (bool, error) {
	is, err := strconv.ParseBool(cmp.Or(fields[word], "false"))
	if err != nil {
		return false, fmt.Errorf("%s is true or false, and not %q", word, fields[word])
	}
	return is, nil
}

// windowsPath is a path with its drive, or a drive. It has no other colon: that would be a stream of a file.
var windowsPath = lazyregexp.New(`^[A-Za-z]:([\\/][^:]*)?$`)
