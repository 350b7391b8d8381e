package single

import (
	"context"
	"fmt"
)

// start has a container that has ended begin anew, in the background, with what it was run with. Its C: is the image's
// again: what it had written there went with its program. One that runs is no error; one that is being started, or that
// is ending, is waited for.
func (s *service) start(ctx context.Context, cancel func(), c *client, name string) error {
	known, k, err := s.register.find(name)
	for err == nil && k != nil {
		var runs bool
		if runs, err = k.settles(ctx); err != nil {
			return err
		}
		if runs {
			c.say(Event{Done: true})
			return nil
		}
		known, k, err = s.register.find(known.ID)
	}
	if err != nil {
		return err
	}

	ask, err := askedAgain(known)
	if err != nil {
		return err
	}
	return s.begin(ctx, cancel, c, beginning{
		ask:   ask,
		id:    known.ID,
		enter: s.register.again,
	})
}

// settles returns when the container's program runs, or when the container's end is noted.
func (k *container) settles(ctx context.Context) (runs bool, err error) {
	select {
	case <-k.begun:
		if !closed(k.ended) {
			return true, nil
		}
	case <-k.over:
	case <-ctx.Done():
		return false, fmt.Errorf("wait for the start of container %s: %w", k.name, ctx.Err())
	}
	return false, k.isOver(ctx)
}

// askedAgain returns what a container that has ended is made of once more.
func askedAgain(known Container) (Run, error) {
	ask := known.Run
	if ask.Once {
		return ask, &Refusal{
			Code:    codeOther,
			Message: "cannot start container: " + known.Name + ": its image was made for its first run alone",
			Remedy:  "`mullion run` runs the folder again; `mullion image build` makes an image that stays",
		}
	}

	ask.Detach, ask.Streams = true, ""
	ask.Columns, ask.Rows = 0, 0
	if ask.Pull == PullAlways {
		ask.Pull = PullMissing // docker start asks no registry
	}

	return ask, nil
}
