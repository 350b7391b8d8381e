package single

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/runtime/image"
)

// removable is the store of images as a removal has it.
type removable interface {
	Get(ctx context.Context, idOrRef string) (image.Info, error)
	Untag(ctx context.Context, ref string) (others []string, err error)
	Remove(ctx context.Context, idOrRef string) error
}

// removeImage removes a name of an image that has others, and else the image.
func (s *service) removeImage(ctx context.Context, c *client, ref string, force bool) error {
	all, err := s.allImages(ctx)
	if err != nil {
		return err
	}
	kept, err := s.register.removeImage(ctx, all, ref, force)
	if err != nil {
		return err
	}
	c.say(Event{KeptNames: kept, Done: true})
	return nil
}

// removeImage removes a tag or a digest of an image that has others, which it returns, and else the image. One of which
// a container runs is kept, and one with several names is removed by its ID with force alone, as with Docker. One
// removal comes after the other: each sees the names that the one before has left.
func (r *register) removeImage(ctx context.Context, all removable, ref string, force bool) (kept []string, err error) {
	r.images.Lock()
	defer r.images.Unlock()
	img, err := all.Get(ctx, ref)
	if err != nil {
		return nil, notHere(err)
	}
	users := r.imageUsers()
	if user, runs := runsAs(users, ref); runs {
		return nil, inUse(ref, user)
	}

	name, err := image.Normalize(ref)
	switch named := err == nil && slices.Contains(slices.Concat(img.RepoTags, img.RepoDigests), name); {
	case named:
		if kept, err = all.Untag(ctx, ref); err != nil {
			return nil, fmt.Errorf("remove the name %q: %w", ref, err)
		}
		if len(kept) > 0 {
			return kept, nil
		}

	case !force && !img.Single():
		conflict := refuse("conflict: unable to delete %s (must be forced) - image is referenced in multiple repositories", ref)
		conflict.Conflict = true
		conflict.Remedy = "-f removes it with all its names"
		return nil, conflict
	}

	get := func(name string) (image.Info, error) { return all.Get(ctx, name) }
	if user, used := userOf(users, img, get); used {
		return nil, inUse(ref, user)
	}
	if err := all.Remove(ctx, ref); err != nil {
		return nil, fmt.Errorf("remove image %q: %w", ref, err)
	}
	return nil, nil
}

// inUse refuses to remove an image, or a name of one.
func inUse(ref string, user Container) error {
	conflict := refuse("conflict: unable to remove image %q: container %s is using it, end it first", ref, user.ShortID())
	conflict.Conflict = true
	return conflict
}

// imageUse is the image that a container is made of, as Container has it.
type imageUse struct{ id, target string }

// usesImage notes that a container that is being made uses an image, until its end is noted. get finds it once more: it
// may have been removed since it was found.
func (r *register) usesImage(ctx context.Context, k *container, img image.Info,
	get func(ctx context.Context, id, handler string) (image.Info, error),
) error {
	k.imageID, k.imageTarget = img.ID, img.Target.Digest.String()
	if img.ID == "" { // a bare Windows
		return nil
	}
	r.images.Lock()
	defer r.images.Unlock()
	if _, err := get(ctx, img.ID, ""); err != nil {
		return k.notFound(err)
	}

	r.waitingMu.Lock()
	defer r.waitingMu.Unlock()
	r.using[k.id] = imageUse{id: k.imageID, target: k.imageTarget}
	return nil
}

// imageUsers returns the containers that keep their images: those that run, and those that are about to.
func (r *register) imageUsers() []Container {
	all := r.list()
	r.waitingMu.Lock()
	defer r.waitingMu.Unlock()
	return slices.DeleteFunc(all, func(c Container) bool {
		_, begins := r.using[c.ID]
		return c.State() != Running && !begins
	})
}

// runsAs returns a container of which is not noted which image it has, and that was given an image's name. Its next
// start looks for that name again, and would fail without it, or pull what a registry has by then.
func runsAs(users []Container, name string) (user Container, runs bool) {
	name, err := image.Normalize(name)
	if err != nil {
		return user, false
	}
	for _, c := range users {
		own, err := image.Normalize(c.Run.Image)
		if err == nil && own == name && c.ImageID == "" {
			return c, true
		}
	}
	return user, false
}

// userOf returns a container that uses an image. As with Docker its image's ID tells, since another image may have the
// name by now; where no ID is noted, the name does, whose image get returns.
func userOf(users []Container, img image.Info, get func(name string) (image.Info, error)) (user Container, used bool) {
	for _, c := range users {
		if c.Run.Image == "" {
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

// RemoveImage removes an image, or a name of one that has others: kept are those. By its ID one with several names goes
// with force alone. The error is errdefs.ErrNotFound if it is not here.
func (c *Client) RemoveImage(ctx context.Context, ref string, force bool) (kept []string, err error) {
	e, err := c.answer(ctx, Request{RemoveImage: strings.TrimSpace(ref), ForceImage: force})
	return e.KeptNames, missing(err)
}
