package single

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs"

	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/windows/winver"
)

// image finds the image, or pulls it. A container that asks for no version of Windows has its image's own from then on,
// if the catalogue has that: the room changes with it, so nothing of the room is used before.
func (k *container) image(ctx context.Context) (image.Info, error) {
	if k.ask.Image == "" {
		return image.Info{}, nil
	}

	say := sync.OnceFunc(func() { k.client.say(Event{Doing: "pulling " + k.ask.Image}) })
	img, err := k.found(ctx, k.ask.Pull, say)
	pull := k.ask.Pull
	if err == nil {
		pull = PullNever // it is here
	}

	if own := k.ownWindows(img, err); own != "" {
		told := k.client.sayLater(patience, Event{Doing: "preparing Windows " + own + ", for which the image is"})
		r, wrong := k.service.room(ctx, own)
		told()
		if wrong != nil {
			return img, wrong
		}

		k.room = r
		img, err = k.found(ctx, pull, say)
	}

	if err != nil {
		return img, k.notFound(err)
	}
	return img, k.fits(img)
}

// ownWindows returns the version of Windows that an image is for, which was found or not pulled for that; "": the
// container has it, or was asked for with one, or the catalogue lacks it.
func (k *container) ownWindows(img image.Info, err error) string {
	osVersion := img.OSVersion
	if other, ok := errors.AsType[*image.MismatchError](err); ok {
		osVersion, err = other.Image, nil
	}
	if k.ask.Windows != "" || err != nil || osVersion == "" {
		return ""
	}

	own, known := versionOf(osVersion)
	if !known || own == k.build.Name {
		return ""
	}
	return own
}

// found finds the image, or pulls it, which it says before.
func (k *container) found(ctx context.Context, pull Pull, say func()) (image.Info, error) {
	ref := k.ask.Image
	if pull != PullAlways {
		img, err := k.images.GetAny(ctx, ref, "")
		switch {
		case err == nil || !errdefs.IsNotFound(err):
			return img, err
		case pull == PullNever:
			return img, &Refusal{
				Code:    CodeFailed,
				Message: fmt.Sprintf("there is no image %q, and --pull never keeps it from being pulled", ref),
				Remedy:  "`mullion image load --run FILE` loads one from an archive",
			}
		}
	}

	say()
	img, err := k.images.Pull(ctx, ref, k.ask.Auth, "")
	if err != nil {
		return img, fmt.Errorf("pull image %q: %w", ref, err)
	}
	return img, nil
}

// fits returns an error if the image is of a build that a container here cannot have.
func (k *container) fits(img image.Info) error {
	err := k.images.Check(img, "")
	if other, ok := errors.AsType[*image.MismatchError](err); ok {
		return &Refusal{
			Code:    CodeFailed,
			Message: fmt.Sprintf("run image %q: it is for Windows %s, the container is %s", k.ask.Image, other.Image, other.Node),
			Remedy:  ownVersion(other),
		}
	}
	return err
}

// notFound is why an image was not found, with what to do.
func (k *container) notFound(err error) error {
	if _, ok := errors.AsType[*Refusal](err); ok {
		return err
	}

	r := &Refusal{Code: CodeFailed, Message: err.Error()}
	var other *image.MismatchError
	var system *image.SystemError
	switch {
	case errors.As(err, &other):
		r.Remedy = ownVersion(other)
	case errors.As(err, &system) && system.Linux():
		r.Remedy = "this image is for Linux: `docker run` runs it"
	case system != nil && system.OtherProcessor():
		r.Remedy = "build it for amd64; with Docker: --platform windows/amd64"
	default:
		r.Remedy = cmp.Or(image.RegistryRemedy(k.ask.Image, err), "`mullion image ls --run` lists the images that are "+
			"here; `mullion image build FOLDER -t "+k.ask.Image+" --run` makes one, `mullion image load --run FILE` "+
			"loads one")
	}

	return r
}

// ownVersion says how an image gets the Windows that it is for.
func ownVersion(other *image.MismatchError) string {
	own, known := versionOf(other.Image)
	if !known {
		return "no Windows of the catalogue has that build: `mullion version` lists them; build the image for one of them"
	}
	return "leave --windows-version out, or give it its own: --windows-version " + own
}

// versionOf returns the name of the version of Windows that an image is for, by its os.version.
func versionOf(osVersion string) (name string, known bool) {
	v, err := winver.ParseVersion(osVersion)
	if err != nil {
		return "", false
	}
	for _, b := range winver.All() {
		if b.Version.Build == v.Build {
			return b.Name, true
		}
	}
	return "", false
}

// hasImage tells the client whether an image is here, of whatever build. It is asked before a container is made, which
// may be of another Windows than the default: so no room is made for it.
func (s *service) hasImage(ctx context.Context, c *client, ref string) (err error) {
	if err := s.ready(ctx); err != nil {
		return err
	}
	to, err := containerd.New(s.options.Paths.ContainerdSocket(), containerd.WithDefaultNamespace(namespace))
	if err != nil {
		return fmt.Errorf("connect to containerd: %w", err)
	}
	defer func() { err = errors.Join(err, to.Close()) }()

	all, err := everyBuild(to)
	if err != nil {
		return err
	}
	if _, err := all.GetAny(ctx, ref, ""); err != nil {
		return notHere(err)
	}
	c.say(Event{Done: true})
	return nil
}

// everyBuild returns the store with the images of every build.
func everyBuild(to *containerd.Client) (*image.Store, error) {
	return image.New(to, namespace, image.Config{Handlers: image.DefaultHandlers()})
}

// listImages tells the client of all images.
func (s *service) listImages(ctx context.Context, c *client) error {
	all, err := s.allImages(ctx)
	if err != nil {
		return err
	}
	list, err := all.List(ctx)
	if err != nil {
		return err
	}
	c.say(Event{Images: list, Done: true})
	return nil
}

// allImages returns the store with the images of every build.
func (s *service) allImages(ctx context.Context) (*image.Store, error) {
	r, err := s.room(ctx, "")
	if err != nil {
		return nil, err
	}
	return everyBuild(r.client)
}

// pull pulls an image, as for a container that is run.
func (s *service) pull(ctx context.Context, c *client, ask Run) error {
	r, err := s.room(ctx, ask.Windows)
	if err != nil {
		return err
	}

	ask.Pull = PullAlways
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

	c.say(Event{Images: []image.Info{img}, Done: true})
	return nil
}

// removeImage removes a name of an image that has others, and else the image. One of which a container runs is kept, as
// with Docker.
func (s *service) removeImage(ctx context.Context, c *client, ref string) error {
	all, err := s.allImages(ctx)
	if err != nil {
		return err
	}
	img, err := all.Get(ctx, ref)
	if err != nil {
		return notHere(err)
	}
	if user, runs := runsAs(s.register.list(), ref); runs {
		return inUse(ref, user)
	}
	if _, err := image.Normalize(ref); err == nil && img.ID != ref {
		kept, err := all.Untag(ctx, ref)
		if err != nil {
			return fmt.Errorf("remove the name %q: %w", ref, err)
		}
		if len(kept) > 0 {
			c.say(Event{KeptNames: kept, Done: true})
			return nil
		}
	}

	get := func(name string) (image.Info, error) { return all.Get(ctx, name) }
	if user, used := userOf(s.register.list(), img, get); used {
		return inUse(ref, user)
	}

	if err := all.Remove(ctx, ref); err != nil {
		return fmt.Errorf("remove image %q: %w", ref, err)
	}
	c.say(Event{Done: true})
	return nil
}

// inUse refuses to remove an image, or a name of one.
func inUse(ref string, user Container) error {
	conflict := refuse("conflict: unable to remove image %q: container %s is using it, end it first", ref, user.ShortID())
	conflict.Conflict = true
	return conflict
}

// runsAs returns a container that runs and was given an image's name. Its next start looks for that name again, and
// would fail without it, or pull what a registry has by then.
func runsAs(all []Container, name string) (user Container, runs bool) {
	name, err := image.Normalize(name)
	if err != nil {
		return user, false
	}
	for _, c := range all {
		own, err := image.Normalize(c.Run.Image)
		if err == nil && own == name && c.State() == Running {
			return c, true
		}
	}
	return user, false
}

// userOf returns a container that runs and uses an image. As with Docker its image's ID tells, since another image may
// have the name by now; where no ID is noted, the name does, whose image get returns.
func userOf(all []Container, img image.Info, get func(name string) (image.Info, error)) (user Container, used bool) {
	for _, c := range all {
		if c.State() != Running || c.Run.Image == "" {
			continue
		}
		used = c.MadeOf(img)
		if c.ImageID == "" {
			named, err := get(c.Run.Image)
			used = err == nil && named.ID == img.ID
		}
		if used {
			return c, true
		}
	}
	return Container{}, false
}

// HasImage reports whether an image is here, of whatever build.
func (c *Client) HasImage(ctx context.Context, ref string) (bool, error) {
	_, err := c.answer(ctx, Request{HasImage: ref})
	if err = missing(err); errdefs.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// Images returns all images of single containers.
func (c *Client) Images(ctx context.Context) ([]image.Info, error) {
	if !c.HasImages() {
		return []image.Info{}, nil
	}
	e, err := c.answer(ctx, Request{Images: true})
	return e.Images, err
}

// Pull pulls an image for a version of Windows; "": the image's own.
func (c *Client) Pull(ctx context.Context, ref, windows string, auth *image.Auth) (image.Info, error) {
	e, err := c.answer(ctx, Request{Pull: &Run{
		Image:   ref,
		Windows: windows,
		Auth:    auth,
	}})
	if err == nil && len(e.Images) == 0 {
		err = errors.New("the engine is of another version: `mullion down --run` ends it")
	}
	if err != nil {
		return image.Info{}, err
	}
	return e.Images[0], nil
}

// RemoveImage removes an image, or a name of one that has others: kept are those. The error is errdefs.ErrNotFound if
// it is not here.
func (c *Client) RemoveImage(ctx context.Context, ref string) (kept []string, err error) {
	e, err := c.answer(ctx, Request{RemoveImage: strings.TrimSpace(ref)})
	return e.KeptNames, missing(err)
}
