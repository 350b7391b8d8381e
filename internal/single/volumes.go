package single

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/runtime/image"
)

// named returns mounts with the names of their volumes as the engine keeps them: those that nobody has named have one
// from then on.
func named(mounts []Mount) ([]Mount, error) {
	all := slices.Clone(mounts)
	for i, m := range all {
		switch {
		case m.Volume != "":
			name, err := VolumeName(m.Volume)
			if err != nil {
				return nil, runRefusal(err)
			}
			all[i].Volume = name
		case m.Anonymous:
			all[i].Volume = newID()
		}
	}
	return all, nil
}

// runRefusal gives a refusal the exit code of `mullion run`.
func runRefusal(err error) error {
	if r, ok := errors.AsType[*Refusal](err); ok && r.Code == codeOther {
		of := *r
		of.Code = CodeFailed
		return &of
	}
	return err
}

// targetsOf returns mounts as far as they say where they are, of which nothing is opened.
func targetsOf(mounts []Mount) (out []engine.Mount) {
	for _, m := range mounts {
		out = append(out, engine.Mount{Target: m.Target})
	}
	return out
}

// mostOfImage bounds the volumes that an image asks for.
const mostOfImage = 256

// takeVolumes makes volumes of the folders that the image says are written to. Of a command of a build, and of what is
// only explained, they are the container's own, and go with it.
func (k *container) takeVolumes(inherited *cri.Inherited) error {
	if k.ask.Layer != "" || len(inherited.Volumes) == 0 {
		return nil
	}
	if len(inherited.Volumes) > mostOfImage {
		return &Refusal{
			Code:    CodeFailed,
			Message: fmt.Sprintf("the image has %d volumes, and %d are the most", len(inherited.Volumes), mostOfImage),
		}
	}

	mounts := slices.Clone(k.ask.Mounts)
	for _, target := range inherited.Volumes {
		mounts = append(mounts, Mount{
			Target:    target,
			Volume:    newID(),
			Anonymous: true,
		})
	}

	if err := k.service.register.mounts(k.id, mounts); err != nil {
		return err
	}
	k.ask.Mounts, inherited.Volumes = mounts, nil
	return nil
}

// readyVolumes makes the container's volumes that are not there, fills those that are empty, and returns its mounts
// with their folders. uid is the container's user.
func (k *container) readyVolumes(ctx context.Context, img image.Info, uid uint32) ([]Mount, error) {
	all, r := slices.Clone(k.ask.Mounts), k.service.register
	for i, m := range all {
		if m.Volume == "" {
			continue
		}

		var labels map[string]string
		if m.Anonymous {
			labels = map[string]string{AnonymousLabel: ""}
		}
		if _, err := r.volumes.make(m.Volume, labels); err != nil {
			return nil, err
		}
		all[i].Source, all[i].Shared = r.volumes.data(m.Volume), true
		told := k.client.sayLater(patience, Event{Doing: "filling volume " + m.Volume + " with what the image has"})
		err := r.readyVolume(k, m.Volume, func(data *os.Root) error {
			if err := k.engine.GiveVolume(data, uid); err != nil || m.NoCopy {
				return err
			}
			return k.engine.FillVolume(ctx, "volume-"+newID(), img.ChainID, m.Target, data)
		})
		told()
		if err != nil {
			return nil, fmt.Errorf("make volume %q: %w", m.Volume, err)
		}
	}

	return all, nil
}

// sources returns mounts with the folders of their volumes.
func (v *volumes) sources(mounts []Mount) []Mount {
	if !slices.ContainsFunc(mounts, func(m Mount) bool { return m.Volume != "" }) {
		return mounts
	}
	all := slices.Clone(mounts)
	for i, m := range all {
		if m.Volume != "" {
			all[i].Source = v.data(m.Volume)
		}
	}
	return all
}

// mounts notes what a container mounts, before its volumes are made.
func (r *register) mounts(id string, mounts []Mount) error {
	_, err := r.known.Update(id, func(c Container) (Container, error) {
		c.Run.Mounts = mounts
		return c, nil
	})
	return err
}

// has reports whether a container mounts a volume.
func (c Container) has(volume string) bool {
	return slices.ContainsFunc(c.Run.Mounts, func(m Mount) bool { return m.Volume == volume })
}

// usersOf returns the ids of the containers that have a volume, running or not.
func (r *register) usersOf(volume string) (ids []string) {
	for _, c := range r.known.List(nil) {
		if c.has(volume) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// readyVolume has a volume filled for a container, unless it is ready for another one that lives: that one may write to
// it, so that it is taken as it is. What is wanted of one volume at once is done one after the other.
func (r *register) readyVolume(k *container, volume string, fill func(data *os.Root) error) error {
	defer r.volumes.lock(volume)()
	if !r.readyElsewhere(volume, k.id) {
		if err := r.volumes.fill(volume, fill); err != nil {
			return err
		}
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	k.volumes = append(k.volumes, volume)
	return nil
}

// readyElsewhere reports whether a volume is ready for a container other than this one, which runs or is about to.
func (r *register) readyElsewhere(volume, id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for user, other := range r.live {
		if user != id && slices.Contains(other.volumes, volume) {
			return true
		}
	}
	return false
}

// dropVolumes removes the volumes of a container that nobody has named, unless another one has them.
func (r *register) dropVolumes(c Container) error {
	gone, err := r.takeUnnamed(c)
	return errors.Join(err, r.volumes.discardAll(gone))
}

// takeUnnamed takes those volumes from their places; discardAll removes what there was of them.
func (r *register) takeUnnamed(c Container) (gone []string, err error) {
	var errs []error

	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range c.Run.Mounts {
		if m.Volume == "" || !m.Anonymous ||
			slices.ContainsFunc(r.usersOf(m.Volume), func(user string) bool { return user != c.ID }) {
			continue
		}
		moved, err := r.volumes.moveAway(m.Volume)
		if _, none := errors.AsType[*Refusal](err); none {
			continue // it was not made
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		gone = append(gone, moved)
	}

	return gone, errors.Join(errs...)
}

// removeVolume removes a volume that no container has.
func (r *register) removeVolume(name string) error {
	moved, err := r.takeVolume(name)
	if err != nil {
		return err
	}
	return r.volumes.discard(moved)
}

func (r *register) takeVolume(name string) (moved string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock() // no container is taken in meanwhile
	if users := r.usersOf(name); len(users) > 0 {
		return "", refuse("remove %s: volume is in use - [%s]", name, strings.Join(users, ", "))
	}
	return r.volumes.moveAway(name)
}

// listVolumes returns all volumes, with their users.
func (r *register) listVolumes() ([]Volume, error) {
	all, err := r.volumes.list()
	for i := range all {
		all[i].UsedBy = r.usersOf(all[i].Name)
	}
	return all, err
}

// VolumeAsk asks for something of volumes: for one of its fields.
type VolumeAsk struct {
	List bool `json:",omitempty"`
	// Make asks for a volume to be there, with these labels if it is not.
	Make *NewVolume `json:",omitempty"`
	// Remove names a volume that is to go; with Force one that is not there is no error.
	Remove string        `json:",omitempty"`
	Force  bool          `json:",omitempty"`
	Prune  *VolumePruned `json:",omitempty"`
	// PruneBut is Prune for one with NotLabels, which an earlier engine would not look at.
	PruneBut *VolumePruned `json:",omitempty"`
}

// NewVolume is a volume to be made. Without a name it gets one.
type NewVolume struct {
	Name   string
	Labels map[string]string
}

// VolumePruned asks for the volumes to go that no container has, and that nobody has named: with All also the others;
// with Labels those alone that have them all, with NotLabels those that have none of them, each NAME or NAME=VALUE.
type VolumePruned struct {
	All               bool
	Labels, NotLabels []string
}

// fits reports whether a volume that no container has is meant.
func (p VolumePruned) fits(v Volume) bool {
	has := func(label string) bool { return v.HasLabels([]string{label}) }
	return (p.All || v.Anonymous()) && v.HasLabels(p.Labels) && !slices.ContainsFunc(p.NotLabels, has)
}

// HasLabels reports whether a volume has labels, each NAME or NAME=VALUE.
func (v Volume) HasLabels(labels []string) bool {
	for _, l := range labels {
		name, want, given := strings.Cut(l, "=")
		got, has := v.Labels[name]
		if !has || (given && got != want) {
			return false
		}
	}
	return true
}

// volumesAsked does what a client asks for of volumes.
func (s *service) volumesAsked(ctx context.Context, ask VolumeAsk, answer *Event) (err error) {
	switch {
	case ask.List:
		answer.Volumes, err = s.register.listVolumes()
	case ask.Make != nil:
		var made Volume
		made, err = s.register.makeVolume(*ask.Make)
		answer.Volumes = []Volume{made}
	case ask.Remove != "":
		name := strings.ToLower(ask.Remove)
		if !s.register.volumes.has(name) {
			if !ask.Force {
				err = noVolume(ask.Remove)
			}
			break
		}
		err = s.register.removeVolume(name)

	case ask.Prune != nil:
		answer.Volumes, answer.Freed, err = s.register.pruneVolumes(ctx, *ask.Prune)
	case ask.PruneBut != nil:
		answer.Volumes, answer.Freed, err = s.register.pruneVolumes(ctx, *ask.PruneBut)
	default:
		err = errors.New("the request asks for nothing of volumes that this engine knows")
	}
	return err
}

// makeVolume makes a volume unless it is there.
func (r *register) makeVolume(ask NewVolume) (Volume, error) {
	if ask.Name == "" {
		ask.Name = newID()
		labels := map[string]string{AnonymousLabel: ""}
		for name, value := range ask.Labels {
			labels[name] = value
		}
		ask.Labels = labels
	}
	name, err := VolumeName(ask.Name)
	if err != nil {
		return Volume{}, err
	}
	return r.volumes.make(name, ask.Labels)
}

// pruneVolumes removes volumes that no container has. It returns them, and how many bytes that has freed.
func (r *register) pruneVolumes(ctx context.Context, ask VolumePruned) (gone []Volume, freed int64, err error) {
	all, err := r.listVolumes()
	if err != nil {
		return nil, 0, err
	}

	for _, v := range all {
		if len(v.UsedBy) > 0 || !ask.fits(v) {
			continue
		}

		size, _ := engine.FolderSize(ctx, v.Mountpoint) // what cannot be counted is not said to be freed
		err := r.removeVolume(v.Name)
		if _, refused := errors.AsType[*Refusal](err); refused {
			continue // a container has it meanwhile, or it is gone
		}
		if err != nil {
			return gone, freed, err
		}
		gone, freed = append(gone, v), freed+size
	}

	return gone, freed, nil
}

// Volumes returns all volumes. Where there has been none, no engine is started to say so.
func (c *Client) Volumes(ctx context.Context) ([]Volume, error) {
	if c.hasNoVolume(ctx) {
		return nil, nil
	}
	e, err := c.answer(ctx, Request{Volume: &VolumeAsk{List: true}})
	return e.Volumes, err
}

// MakeVolume makes a volume unless it is there; without a name it gets one.
func (c *Client) MakeVolume(ctx context.Context, ask NewVolume) (Volume, error) {
	e, err := c.answer(ctx, Request{Volume: &VolumeAsk{Make: &ask}})
	if err == nil && len(e.Volumes) == 0 {
		err = errors.New("the engine is of another version: `mullion down --run` ends it")
	}
	if err != nil {
		return Volume{}, err
	}
	return e.Volumes[0], nil
}

// RemoveVolume removes a volume that no container has. With force one that is not there is no error.
func (c *Client) RemoveVolume(ctx context.Context, name string, force bool) error {
	if name == "" || c.hasNoVolume(ctx) {
		if force && name != "" {
			return nil
		}
		return noVolume(name)
	}
	_, err := c.answer(ctx, Request{Volume: &VolumeAsk{Remove: name, Force: force}})
	return err
}

// FindVolume finds a volume by its name. The error is a *Refusal with Docker's words.
func FindVolume(all []Volume, name string) (Volume, error) {
	i := slices.IndexFunc(all, func(v Volume) bool { return v.Name == strings.ToLower(name) })
	if i < 0 {
		return Volume{}, noVolume(name)
	}
	return all[i], nil
}

// PruneVolumes removes volumes that no container has. It returns them, and how many bytes that has freed.
func (c *Client) PruneVolumes(ctx context.Context, ask VolumePruned) ([]Volume, int64, error) {
	if c.hasNoVolume(ctx) {
		return nil, 0, nil
	}
	with := &VolumeAsk{Prune: &ask}
	if len(ask.NotLabels) > 0 {
		with = &VolumeAsk{PruneBut: &ask}
	}
	e, err := c.answer(ctx, Request{Volume: with})
	return e.Volumes, e.Freed, err
}

// hasNoVolume reports whether there is no volume, and no engine that could have one.
func (c *Client) hasNoVolume(ctx context.Context) bool {
	if to, err := unixsocket.Dialer(c.Paths.Engine())(ctx, "", ""); err == nil {
		_ = to.Close()
		return false
	}
	entries, err := os.ReadDir(c.Paths.volumes())
	return (err == nil && len(entries) == 0) || errors.Is(err, fs.ErrNotExist)
}

// VolumeNames returns the names of volumes. It reads what is on disk, and is for the completion of a shell.
func (c *Client) VolumeNames() (names []string) {
	all, _ := (&volumes{dir: c.Paths.volumes()}).list() // a shell completes what there is
	for _, v := range all {
		names = append(names, v.Name)
	}
	return names
}
