package single

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	if img, err := k.imageAnew(ctx, k.images.GetAny); !errdefs.IsNotFound(err) {
		return img, err
	}
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

// imageAnew returns the image of the last run of a container that begins anew: as with Docker it has that, whatever has
// the name by now. The error is errdefs.ErrNotFound if there is none: then the name is what is left of it.
func (k *container) imageAnew(ctx context.Context,
	get func(ctx context.Context, id, handler string) (image.Info, error),
) (image.Info, error) {
	if !k.anew || k.imageID == "" {
		return image.Info{}, errdefs.ErrNotFound
	}
	return get(ctx, k.imageID, "")
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

// listImages tells the client of all images, or of all their builds.
func (s *service) listImages(ctx context.Context, c *client, builds bool) error {
	all, err := s.allImages(ctx)
	if err != nil {
		return err
	}
	listed := all.List
	if builds {
		listed = all.Builds
	}
	list, err := listed(ctx)
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

// Builds returns the builds of all images of single containers: of an index, which Images has once, each is one.
func (c *Client) Builds(ctx context.Context) ([]image.Info, error) {
	if !c.HasImages() {
		return []image.Info{}, nil
	}
	e, err := c.answer(ctx, Request{Images: true, Builds: true}) // an engine that knows no builds has the images
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
