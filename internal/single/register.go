package single

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"mullion.dev/mullion/internal/base/rotate"
	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/engine"
)

// register knows the containers of a data folder: what a checkpoint has of each, and those that live.
type register struct {
	paths Paths
	known *store.Store[Container]
	most  int // of those that have ended and are kept
	// volumes are those of the data folder; clearVolumes removes what is left of some, which may take a while.
	volumes      *volumes
	clearVolumes func() error
	// left are the images of containers of an earlier engine that were made for one run.
	left []string

	mu   sync.Mutex
	live map[string]*container // by id, until their end is in the checkpoint
	// waiting are those that are tried until they have begun anew, by id: how many try. Its lock is taken last.
	waitingMu sync.Mutex
	waiting   map[string]int
	health    map[string]Health   // of those that live and are asked, under the same lock
	using     map[string]imageUse // by id: of those that live, once it is found, under the same lock

	// images is held while an image is removed, and while a container's is noted: one comes after the other.
	images sync.Mutex
}

// openRegister reads what an earlier engine has left. What ran when it was killed has ended with it; what was to be
// removed at its end, or had not begun, is forgotten.
func openRegister(p Paths) (*register, error) {
	known, err := store.Open[Container](p.records())
	if err != nil {
		return nil, err
	}

	r := &register{
		paths: p,
		known: known,
		most:  mostKept,

		waiting: map[string]int{},
		health:  map[string]Health{},
		using:   map[string]imageUse{},
		live:    map[string]*container{},
	}
	var remains func() error
	if r.volumes, remains, err = openVolumes(p); err != nil {
		return nil, err
	}

	var gone []string // volumes that are removed once the engine serves
	r.clearVolumes = func() error { return errors.Join(remains(), r.volumes.discardAll(gone)) }

	for _, c := range known.List(func(c Container) bool { return c.State() != Exited }) {
		if c.Run.Once {
			r.left = append(r.left, c.Run.Image)
		}
		if !c.Run.Keep || c.State() == Created {
			taken, wrong := r.takeUnnamed(c)
			gone = append(gone, taken...)
			err = errors.Join(err, wrong, r.forget(c.ID))
			continue
		}

		c.Finished = time.Now()
		if c.Health != nil {
			c.Health = &Health{Status: Unhealthy, Log: c.Health.Log}
		}
		c.End = End{Code: engine.UnknownExit, Killed: true}
		c.Why = "the engine was killed, and its containers with it"
		err = errors.Join(err, known.Put(c.ID, c))
	}

	return r, errors.Join(err, r.clearLogs())
}

// clearLogs removes the logs of containers that nobody knows.
func (r *register) clearLogs() error {
	entries, err := os.ReadDir(r.paths.containerLogs())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}

	for _, e := range entries {
		id, _, _ := strings.Cut(e.Name(), ".")
		if _, known := r.get(id); !known {
			err = errors.Join(err, os.Remove(filepath.Join(r.paths.containerLogs(), e.Name())))
		}
	}

	return err
}

// get returns the container of an id.
func (r *register) get(id string) (Container, bool) {
	c, err := r.known.Get(id)
	return c, err == nil && c.ID == id
}

// find finds a container by what a person calls it, and what lives of it: nil if it has ended.
func (r *register) find(text string) (Container, *container, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, err := Find(r.known.List(nil), text)
	return c, r.live[c.ID], err
}

// list returns all containers, the newest first.
func (r *register) list() []Container {
	all := r.known.List(nil)
	r.waitingMu.Lock()
	for i := range all {
		all[i].Waits = r.waiting[all[i].ID] > 0
		if h, asked := r.health[all[i].ID]; asked {
			all[i].Health = &h
		}
		if use, begins := r.using[all[i].ID]; begins {
			all[i].ImageID, all[i].ImageTarget = use.id, use.target
		}
		all[i].Run.Mounts = r.volumes.sources(all[i].Run.Mounts)
	}
	r.waitingMu.Unlock()
	// sort and not slices, which is compiled anew for such a large type
	sort.SliceStable(all, func(i, j int) bool { return all[i].Created.After(all[j].Created) })
	return all
}

// waits notes that a container is tried until it has begun anew; the result ends that.
func (r *register) waits(id string) (over func()) {
	count := func(n int) {
		r.waitingMu.Lock()
		defer r.waitingMu.Unlock()
		if r.waiting[id] += n; r.waiting[id] == 0 {
			delete(r.waiting, id)
		}
	}
	count(1)
	return func() { count(-1) }
}

// add takes in a container that is about to be made, whose name is its own from now on.
func (r *register) add(k *container) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.known.List(nil)
	name := strings.TrimPrefix(k.ask.Name, "/")
	if name == "" {
		name = freeName(all, rand.IntN)
	}

	for _, c := range all {
		if c.Name == name {
			return taken(name, c)
		}
	}

	k.name = name
	kept := k.ask
	kept.Secrets, kept.Auth = nil, nil
	if err := r.known.Put(k.id, Container{
		ID:      k.id,
		Name:    name,
		Run:     kept,
		Created: time.Now(),
		Log:     r.paths.containerLog(k.id),
	}); err != nil {
		return err
	}

	r.live[k.id] = k
	return nil
}

// again takes in a container that has ended and begins anew. What is known of it stays as it is until its program runs.
func (r *register) again(k *container) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, known := r.get(k.id)
	if !known || c.State() != Exited || r.live[k.id] != nil {
		return refuse("container %s is not one that has ended", k.id)
	}
	if k.byItself && c.Stopped {
		return refuse("container %s has been stopped", k.id)
	}
	k.anew = true
	k.name, k.sources = c.Name, c.Sources
	k.imageID = c.ImageID
	r.live[k.id] = k
	return nil
}

// rename gives a container another name.
func (r *register) rename(id, name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()

	for _, c := range r.known.List(nil) {
		switch {
		case c.Name != name:
		case c.ID == id:
			return refuse("Renaming a container with the same name as its current name")
		default:
			conflict := taken(name, c)
			conflict.Code = codeOther
			return conflict
		}
	}

	_, err := r.known.Update(id, func(c Container) (Container, error) {
		c.Name = name
		return c, nil
	})
	return err
}

// begun notes that the program of a container runs.
func (r *register) begun(k *container) error {
	_, err := r.known.Update(k.id, func(c Container) (Container, error) {
		c.Started, c.Finished = time.Now(), time.Time{}
		c.End, c.Why = End{}, ""
		c.Stopped = false
		if !k.byItself {
			c.Restarts = 0
		}

		c.Ports, c.Labels = k.ports(), k.labels
		c.Address = k.address()
		c.Sources = k.sources
		c.Args, c.Env = k.inherited.Args, k.openEnv()
		c.Dir, c.User = k.inherited.Dir, k.inherited.User
		c.Windows = k.build.Name
		c.ImageID, c.ImageTarget = k.imageID, k.imageTarget
		r.healthBegins(&c, k.check)
		return c, nil
	})

	return err
}

// stopped notes that a person ends a container, which then does not begin anew by itself.
func (r *register) stopped(c Container) error {
	if c.Run.Restart.Policy == "" {
		return nil
	}
	_, err := r.known.Update(c.ID, func(c Container) (Container, error) {
		c.Stopped = true
		return c, nil
	})
	return err
}

// attempt counts that a container is about to begin anew by itself, and returns it. It is not due if somebody has it
// begin or has stopped or removed it meanwhile, or if it has run again since it ended at that time.
func (r *register) attempt(id string, ended time.Time) (c Container, due bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live[id] != nil {
		return c, false
	}

	c = r.note(id, func(c *Container) {
		if due = c.restarts(false) && c.Finished.Equal(ended); due {
			c.Restarts++
		}
	})
	return c, due
}

// notBegun notes why a container has not begun anew by itself, and returns it.
func (r *register) notBegun(id string, why error) Container {
	return r.note(id, func(c *Container) {
		if c.State() == Exited {
			c.Why = "it did not begin anew: " + why.Error()
		}
	})
}

// revive notes that a new engine has a container begin anew, also if a person had stopped it.
func (r *register) revive(id string) {
	r.note(id, func(c *Container) { c.Stopped = false })
}

// note changes what is known of a container, and returns it: the zero value if nothing is. What cannot be written is
// known as long as this engine lives.
func (r *register) note(id string, change func(*Container)) Container {
	c, err := r.known.Update(id, func(c Container) (Container, error) {
		change(&c)
		return c, nil
	})
	if err != nil {
		r.known.Hold(id, c)
	}
	return c
}

// openEnv returns the variables of the container's program that are no secrets.
func (k *container) openEnv() []string {
	return slices.DeleteFunc(slices.Clone(k.inherited.Env), func(one string) bool {
		name, _, _ := strings.Cut(one, "=")
		return slices.ContainsFunc(k.ask.Secrets, func(secret string) bool {
			other, _, _ := strings.Cut(secret, "=")
			return strings.EqualFold(name, other)
		})
	})
}

// over notes how a container has ended; one that is not kept, or that has never begun, is forgotten. What cannot be
// written, as on a full disk, is known as long as this engine lives.
func (r *register) over(k *container, end End, why string) error {
	c, err := r.known.Update(k.id, func(c Container) (Container, error) {
		r.healthEnds(&c)
		switch {
		case !k.ask.Keep || c.State() == Created:
			return c, errForgotten
		case c.State() == Exited:
			return c, nil // it was to begin anew, and has not
		}
		c.Finished = time.Now()
		c.End = end
		c.Why = why
		return c, nil
	})

	forgotten := errors.Is(err, errForgotten)
	if err != nil && !forgotten {
		r.known.Hold(k.id, c)
	}
	r.mu.Lock()
	delete(r.live, k.id)
	r.mu.Unlock()
	r.waitingMu.Lock()
	delete(r.using, k.id)
	r.waitingMu.Unlock()

	switch {
	case forgotten:
		return errors.Join(r.dropVolumes(c), r.forget(k.id))
	case err != nil:
		return fmt.Errorf("note the end of container %q: %w", c.Name, err)
	}

	return r.limit()
}

var errForgotten = errors.New("the container is to be forgotten")

// mostKept is how many containers that have ended are kept; of more the oldest are forgotten.
const mostKept = 200

func (r *register) limit() (err error) {
	for i, c := range r.ended() {
		if i >= r.most {
			err = errors.Join(err, r.forget(c.ID))
		}
	}
	return err
}

// ended returns the containers that have ended, the newest first; one that is about to begin anew is none of them.
func (r *register) ended() (out []Container) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.list() {
		if c.State() == Exited && r.live[c.ID] == nil {
			out = append(out, c)
		}
	}
	return out
}

// forget removes what is on disk of a container, and is safe to repeat.
func (r *register) forget(id string) error {
	return errors.Join(r.known.Delete(id), rotate.Remove(r.paths.containerLog(id)))
}

// prune forgets the containers that have ended and fit. It returns them, and how many bytes that has freed.
func (r *register) prune(which Pruned) (gone []Container, freed int64, err error) {
	for _, c := range r.ended() {
		if !which.fits(c) {
			continue
		}
		for _, name := range rotate.Names(r.paths.containerLog(c.ID)) {
			if info, err := os.Stat(name); err == nil {
				freed += info.Size()
			}
		}
		if err := r.forget(c.ID); err != nil {
			return gone, freed, err
		}
		gone = append(gone, c)
	}
	return gone, freed, nil
}
