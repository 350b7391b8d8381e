package single

import "context"

// start has a container that has ended begin anew, in the background, with what it was run with. Its C: is the image's
// again: what it had written there went with its program. One that runs is no error.
func (s *service) start(ctx context.Context, cancel func(), c *client, name string) error {
	known, k, err := s.register.find(name)
	switch {
	case err != nil:
		return err
	case k != nil && k.runs():
		c.say(Event{Done: true})
		return nil
	case k != nil:
		return refuse("cannot start container: %s: it is being started", name)
	}
	ask, err := askedAgain(known)
	if err != nil {
		return err
	}
	return s.begin(ctx, cancel, c, ask, known.ID, s.register.again)
}

// askedAgain is what a container that has ended is made of once more.
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
