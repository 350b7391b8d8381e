package single

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// manage does what is asked of containers that are there.
func (s *service) manage(ctx context.Context, c *client, ask Request) (err error) {
	answer := Event{Done: true}
	switch {
	case ask.List:
		answer.Containers = s.register.list()
	case ask.Prune:
		answer.Containers, answer.Freed, err = s.register.prune(Pruned{})
	case ask.PruneThose != nil:
		answer.Containers, answer.Freed, err = s.register.prune(*ask.PruneThose)
	case ask.Wait != "":
		err = s.await(ctx, c, ask.Wait, &answer)
	case ask.Stop != nil:
		err = s.stop(ctx, *ask.Stop)
	case ask.Tell != nil:
		err = s.tell(ctx, *ask.Tell)
	case ask.Remove != nil:
		err = s.remove(ctx, *ask.Remove)
	case ask.Rename != nil:
		err = s.rename(*ask.Rename)
	case ask.Volume != nil:
		err = s.volumesAsked(ctx, *ask.Volume, &answer)
	case ask.Sample != nil:
		answer.Samples, err = s.sample(ctx, ask.Sample.Containers)
	default:
		err = errors.New("the request asks for nothing that this engine knows")
	}
	if err == nil {
		c.say(answer)
	}

	return err
}

// await waits for the end of a container.
func (s *service) await(ctx context.Context, c *client, name string, answer *Event) error {
	known, k, err := s.register.find(name)
	if err != nil {
		return err
	}
	if k == nil && known.Finished.IsZero() {
		return refuse("container %s has ended, and how is not known", known.ID)
	}

	if k == nil {
		answer.Ended = &known.End
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	s.background.Go(func() { // who does not wait any more is not waited for
		var nothing Control
		_ = c.read.Decode(&nothing)
		cancel()
	})
	if err := k.isOver(ctx); err != nil {
		return err
	}

	if !k.runs() {
		return refuse("container %s has ended before its program ran", known.ID)
	}
	answer.Ended = &k.end
	return nil
}

// isOver returns when the container's end is noted.
func (k *container) isOver(ctx context.Context) error {
	select {
	case <-k.over:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the end of container %s: %w", k.name, ctx.Err())
	}
}

// stop ends a container, and returns when it has ended. One that has is no error. It is carried out also if its client
// goes, as Docker does.
func (s *service) stop(ctx context.Context, ask Ending) error {
	known, k, err := s.register.find(ask.Container)
	if err == nil {
		err = s.register.stopped(known)
	}
	if err != nil || k == nil {
		return err
	}

	if !k.runs() {
		return k.endNow(ctx) // there is no program to be told
	}
	timeout := k.ask.StopTimeout
	if ask.Timeout != nil {
		timeout = *ask.Timeout
	}

	if err := k.stop(s.life, timeout); err != nil { //nolint:contextcheck // It does not end with its client.
		return fmt.Errorf("stop container %s: %w", k.name, err)
	}
	return k.isOver(ctx)
}

// runs reports whether the program has begun.
func (k *container) runs() bool { return closed(k.begun) }

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// endNow kills a container, or has it not made, and returns when that is noted.
func (k *container) endNow(ctx context.Context) error {
	if !k.runs() {
		k.cancel()
	} else if err := k.kill(ctx); err != nil {
		return err
	}
	return k.isOver(ctx)
}

// tell passes a signal on. After that which ends all, it returns when the container has ended.
func (s *service) tell(ctx context.Context, ask Telling) error {
	known, k, err := s.register.find(ask.Container)
	switch {
	case err != nil:
		return err
	case k == nil || !k.runs():
		return refuse("cannot kill container: %s: container %s is not running", ask.Container, known.ID)
	case ask.Signal == Interrupt:
		return k.signal(ctx, ask.Signal)
	}

	if err := s.register.stopped(known); err != nil {
		return err
	}
	if ask.Signal == Kill {
		return k.endNow(ctx)
	}
	return k.signal(ctx, ask.Signal)
}

// rename gives a container another name, by which the others find it from then on.
func (s *service) rename(ask Renaming) error {
	known, k, err := s.register.find(ask.Container)
	if err != nil {
		return err
	}
	name := strings.TrimPrefix(ask.Name, "/")
	if name == "" {
		return refuse("Neither old nor new names may be empty")
	}

	if err := CheckName(name); err != nil {
		return err
	}
	if err := s.register.rename(known.ID, name); err != nil {
		return err
	}
	if k == nil || !k.runs() {
		return nil
	}

	return k.network.Rename(k.names(name))
}

// remove removes a container.
func (s *service) remove(ctx context.Context, ask Removal) error {
	known, k, err := s.register.find(ask.Container)
	switch {
	case err != nil:
		return err
	case k != nil && !ask.Force:
		return refuse("cannot remove container %q: container is %s: stop the container before removing or force remove",
			"/"+known.Name, known.State())
	}

	if err := s.register.stopped(known); err != nil {
		return err
	}
	if k != nil {
		if err := k.endNow(ctx); err != nil {
			return err
		}
	}

	if ask.Volumes {
		if err := s.register.dropVolumes(known); err != nil {
			return err
		}
	}

	return s.register.forget(known.ID)
}
