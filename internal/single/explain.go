package single

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/runtime/imagebuild"
	"mullion.dev/mullion/internal/windows/winargs"
)

// Explanation is what a container would get that is asked for, of the image and of what is asked.
type Explanation struct {
	// Image is nil for a bare Windows.
	Image *ExplainedImage `json:"image,omitempty"`
	// Windows is the name of the container's version of Windows, Build its number, as in 10.0.20348.2762.
	Windows string `json:"windows"`
	Build   string `json:"build"`
	// CommandLine is what Windows starts, Args its words; an image may have a whole line instead, which is then the
	// only one.
	CommandLine string   `json:"commandLine"`
	Args        []string `json:"args"`
	Dir         string   `json:"dir"`
	User        string   `json:"user"`
	// Hostname is "" where the beginning of the container's id is one.
	Hostname string `json:"hostname,omitempty"`
	// Env are the variables beside those of Windows itself.
	Env    []string         `json:"env"`
	Mounts []ExplainedMount `json:"mounts"`
	// Volumes are the image's folders that become volumes, which nobody has named.
	Volumes []string         `json:"volumes"`
	Network ExplainedNetwork `json:"network"`
	Limits  ExplainedLimits  `json:"limits"`
	// StopTimeout is how long the program has after CTRL_SHUTDOWN_EVENT, in seconds.
	StopTimeout float64 `json:"stopTimeout"`
	// Configuration is what the image says, and what becomes of it.
	Configuration []ExplainedField `json:"configuration"`
}

// ExplainedImage is the image of a container.
type ExplainedImage struct {
	Reference string `json:"reference"`
	ID        string `json:"id"`
	// OSVersion is the build that it is for, "" where it does not say.
	OSVersion string `json:"osVersion,omitempty"`
	// Base is what is below its own layers, in words; BaseLayers are the layers of Windows that it has and that are not
	// used.
	Base       string `json:"base"`
	BaseLayers int    `json:"baseLayers"`
	// Lacks is what a stand-in has not that the image has for which it stands.
	Lacks string `json:"lacks,omitempty"`
}

// ExplainedMount is a folder or a file of the machine, or a volume. A volume that nobody names has neither Source nor
// Volume.
type ExplainedMount struct {
	Source   string `json:"source,omitempty"`
	Volume   string `json:"volume,omitempty"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"readOnly"`
	// Note says what the mode does not: root owns it.
	Note string `json:"note,omitempty"`
}

// ExplainedNetwork is a container's network.
type ExplainedNetwork struct {
	Name Network `json:"name"`
	// Ports are as 127.0.0.1:8080/tcp leads to 80.
	Ports []string `json:"ports"`
	// DNS are the name servers that are asked in place of the machine's.
	DNS []string `json:"dns,omitempty"`
}

// ExplainedLimits are a container's; 0 is none.
type ExplainedLimits struct {
	// Memory is in bytes.
	Memory int64 `json:"memory"`
	// CPUs is how many processors Windows counts, CPUShare how many ten-thousandths of all of the machine it may use:
	// one of them, or none.
	CPUs     int64 `json:"cpus"`
	CPUShare int64 `json:"cpuShare"`
}

// ExplainedField is a field of an image's configuration.
type ExplainedField struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
	Used  bool            `json:"used"`
	// How says what becomes of it.
	How string `json:"how"`
}

// Explain says what a container would get. An image that is not there is pulled, as it would be; nothing is run.
func (c *Client) Explain(ctx context.Context, ask Run) (Explanation, error) {
	e, err := c.answer(ctx, Request{Explain: &ask})
	if err != nil {
		return Explanation{}, err
	}
	if e.Explained == nil {
		return Explanation{}, errors.New("the engine is of another version: `mullion down --run` ends it")
	}
	return *e.Explained, nil
}

// explain answers a client.
func (s *service) explain(ctx context.Context, c *client, ask Run) (err error) {
	r, err := s.room(ctx, ask.Windows)
	if err != nil {
		return err
	}

	k := &container{
		room:    r,
		service: s,
		client:  c,
		ask:     ask,
	}

	img, err := k.image(ctx)
	if err != nil {
		return err
	}
	if ask.Once {
		defer func() { err = errors.Join(err, k.images.Remove(context.WithoutCancel(ctx), img.ID)) }()
	}

	folders := slices.DeleteFunc(slices.Clone(ask.Mounts), func(m Mount) bool { return m.Volume != "" || m.Anonymous })
	mounts, err := openMounts(folders)
	if err != nil {
		return err
	}
	defer closeMounts(mounts)

	config := k.config()
	inherited, err := cri.Inherit(config, img, targetsOf(ask.Mounts))
	if err != nil {
		return &Refusal{
			Code:    CodeFailed,
			Message: err.Error(),
			Remedy:  "name a program after the image",
		}
	}

	if _, err := userID(inherited.User); err != nil {
		return err
	}

	e := explanation(ask, inherited)
	e.Windows, e.Build = k.build.Name, k.build.Version.String()
	e.Mounts = explainedMounts(mounts, ask.Mounts)
	limits := limits(ask.Memory, ask.CPUs, runtime.NumCPU())
	e.Limits = ExplainedLimits{limits.GetMemoryLimitInBytes(), limits.GetCpuCount(), limits.GetCpuMaximum()}
	if ask.Image != "" {
		fields, err := k.fields(ctx, img)
		if err != nil {
			return fmt.Errorf("read the configuration of image %q: %w", ask.Image, err)
		}
		e.Image, e.Configuration = explainedImage(ask, img), explainedFields(fields, ask, inherited)
	}

	c.say(Event{Explained: &e})
	return nil
}

// explanation returns what is said of a container without its image.
func explanation(ask Run, inherited cri.Inherited) Explanation {
	e := Explanation{
		CommandLine:   winargs.Line(inherited.Args),
		Args:          inherited.Args,
		Dir:           inherited.Dir,
		User:          inherited.User,
		Hostname:      ask.Hostname,
		Env:           append([]string{}, inherited.Env...),
		Volumes:       append([]string{}, inherited.Volumes...),
		Network:       ExplainedNetwork{Name: ask.Network, Ports: []string{}},
		StopTimeout:   ask.StopTimeout.Seconds(),
		Configuration: []ExplainedField{},
	}

	if inherited.Raw {
		e.CommandLine = strings.Join(inherited.Args, " ")
	}
	for _, p := range ask.Ports {
		e.Network.Ports = append(e.Network.Ports, fmt.Sprintf("%s leads to %d", p, p.Container))
	}

	for _, server := range ask.DNS {
		e.Network.DNS = append(e.Network.DNS, server.String())
	}

	return e
}

// explainedMounts says of what is opened, and of volumes, how the container has it.
func explainedMounts(opened []engine.Mount, asked []Mount) []ExplainedMount {
	all := []ExplainedMount{}
	for _, m := range asked {
		one := ExplainedMount{
			Source:   m.Source,
			Volume:   m.Volume,
			Target:   m.Target,
			ReadOnly: m.ReadOnly,
		}
		if m.Volume != "" || m.Anonymous {
			all = append(all, one)
			continue
		}

		info, err := opened[0].Source.Stat()
		opened = opened[1:]
		if err == nil && !m.ReadOnly {
			if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid == 0 {
				one.Note = "root owns it, so what root owns in it can only be read"
			}
		}
		all = append(all, one)
	}

	return all
}

// explainedImage says what an image is.
func explainedImage(ask Run, img image.Info) *ExplainedImage {
	e := &ExplainedImage{
		Reference:  ask.Image,
		ID:         img.ID,
		OSVersion:  img.OSVersion,
		BaseLayers: len(img.SkippedLayers),
		Base:       "none: Wine's system folder alone",
	}

	switch {
	case img.Config.Labels[imagebuild.LabelBase] == imagebuild.BaseStandIn:
		e.Base = "a stand-in for Windows' base image, made by Mullion"
		e.Lacks = img.Config.Labels[image.LabelLacks]
	case len(img.SkippedLayers) > 0:
		e.Base = "Windows' own layers, for which Wine's system folder stands in"
	}

	return e
}

// fields returns the fields of an image's configuration, also those that only Docker knows.
func (k *container) fields(ctx context.Context, img image.Info) (map[string]json.RawMessage, error) {
	id, err := digest.Parse(img.ID)
	if err != nil {
		return nil, err
	}

	const most = 8 << 20 // bytes, as containerd has for what it reads whole
	store := k.room.client.ContentStore()
	info, err := store.Info(ctx, id)
	if err != nil {
		return nil, err
	}
	if info.Size > most {
		return nil, fmt.Errorf("it has %d bytes", info.Size)
	}

	text, err := content.ReadBlob(ctx, store, ocispec.Descriptor{Digest: id, Size: info.Size})
	if err != nil {
		return nil, err
	}
	var spec struct {
		Config map[string]json.RawMessage `json:"config"`
	}
	return spec.Config, json.Unmarshal(text, &spec)
}

// explainedFields says what becomes of each field that has a value
// (https://github.com/moby/docker-image-spec/blob/v1.3.1/specs-go/v1/image.go).
func explainedFields(fields map[string]json.RawMessage, ask Run, inherited cri.Inherited) []ExplainedField {
	all := []ExplainedField{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value := fields[name]
		if isEmpty(value) {
			continue
		}

		used, how := useOf(name, ask, inherited)
		all = append(all, ExplainedField{
			Name:  name,
			Value: value,
			Used:  used,
			How:   how,
		})
	}

	return all
}

// isEmpty reports whether a field has no value.
func isEmpty(value json.RawMessage) bool {
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return false
	}
	return slices.Contains([]string{"null", `""`, "[]", "{}", "false", "0"}, compact.String())
}

// useOf says what becomes of a field.
func useOf(name string, ask Run, inherited cri.Inherited) (used bool, how string) {
	given := func(is bool, flag string) (bool, string) {
		if is {
			return false, "replaced by " + flag
		}
		return true, "used"
	}

	switch name {
	case "User":
		return given(ask.User != "", "--user")
	case "WorkingDir":
		return given(ask.Dir != "", "--workdir")
	case "Entrypoint":
		return given(len(ask.Entrypoint) > 0, "--entrypoint")
	case "Cmd":
		return given(len(ask.Entrypoint)+len(ask.Args) > 0, "what follows the image, or --entrypoint")
	case "Env":
		return true, "used; --env comes after it"
	case "ArgsEscaped":
		return given(!inherited.Raw && len(ask.Entrypoint)+len(ask.Args) > 0, "what follows the image, or --entrypoint")
	case "Volumes":
		return true, "used: volumes that nobody has named, but where --volume puts another; with --rm they go with the container"
	case "Healthcheck":
		return given(ask.Health != nil && len(ask.Health.Test) > 0, "--health-cmd or --no-healthcheck")
	}

	return false, cmp.Or(ignoredFields()[name], "ignored: Mullion does not know it")
}

// ignoredFields are the fields that a container does not have from its image, with the reason.
func ignoredFields() map[string]string {
	return map[string]string{
		"ExposedPorts": "ignored: --publish names each port",
		"Labels":       "ignored, but for those by which Mullion knows its own images",
		"StopSignal":   "ignored: the program is told by CTRL_SHUTDOWN_EVENT",
		"Shell":        "ignored, but by a health check that is a line for it",
		"OnBuild":      "ignored: it is for images that are built from this one",
	}
}
