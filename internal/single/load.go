package single

import (
	"context"
	"errors"
	"os"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/runtime/image"
)

// load loads the images of an archive.
func (s *service) load(ctx context.Context, c *client, ask Load) error {
	archive, err := os.Open(ask.Archive)
	if err != nil {
		return err
	}
	defer archive.Close()
	told := c.sayLater(patience, Event{Doing: "loading the image"})
	defer told()

	r, err := s.room(ctx, "")
	if err != nil {
		return err
	}
	loaded, err := r.images.Load(ctx, archive, image.LoadOptions{Name: ask.Name, Local: true})
	if err != nil {
		return err
	}

	e := Event{Loaded: []string{}}
	for _, l := range loaded {
		e.Loaded = append(e.Loaded, l.Ref)
	}

	c.say(e)
	return nil
}

// save writes the archive of an image.
func (s *service) save(ctx context.Context, c *client, ask Save) error {
	archive, err := os.OpenFile(ask.Archive, os.O_WRONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	r, err := s.room(ctx, "")
	if err == nil {
		err = r.images.Save(ctx, ask.Image, archive)
	}
	if err := errors.Join(err, archive.Close()); err != nil {
		return notHere(err)
	}
	c.say(Event{Done: true})
	return nil
}

// tag gives an image another reference.
func (s *service) tag(ctx context.Context, c *client, ask Tag) error {
	r, err := s.room(ctx, "")
	if err != nil {
		return err
	}
	s.register.images.Lock() // the image is not removed meanwhile
	err = r.images.Tag(ctx, ask.Image, ask.Name)
	s.register.images.Unlock()
	if err != nil {
		return notHere(err)
	}
	c.say(Event{Done: true})
	return nil
}

// notHere tells the client that an image is not here, by a code of its own.
func notHere(err error) error {
	if !errdefs.IsNotFound(err) {
		return err
	}
	return &Refusal{
		Code:    CodeNotFound,
		Message: err.Error(),
		Remedy:  "`mullion image load --run FILE` loads one from an archive",
	}
}

// openPath opens a folder or a file of the machine to be mounted.
func openPath(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}
