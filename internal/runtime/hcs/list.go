package hcs

import (
	"context"
	"errors"
	"os"
	"time"

	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/engine"
)

// listTimeout is how long the processes of a container may take to be listed, which a program in it does.
const listTimeout = 10 * time.Second

// Processes lists the processes of a compute system, as its own Windows knows them; one without a process has none.
func (s *Service) Processes(ctx context.Context, id string) (all []cri.Process, err error) {
	c, err := s.find(id)
	if err != nil {
		return nil, err
	}

	c.mu.Lock()
	runs := c.made && c.state == Running && !c.first.hasEnded()
	one := &start{process: c.newProcess(c.nextName(), 0, false, false)}
	c.mu.Unlock()
	if !runs {
		return nil, nil
	}

	// All programs of a container are its first one's user's.
	user, err := c.scratch.userOf()
	if err != nil {
		return nil, err
	}
	uid, err := cri.UserID(user)
	if err != nil {
		return nil, err
	}

	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	defer func() {
		if err = errors.Join(err, os.RemoveAll(one.file("list-"))); err != nil {
			s.cfg.Log.Warn("processes not listed", "id", id, "error", err)
		}
	}()

	exit, err := s.cfg.Engine.Exec(ctx, c.engine, engine.ExecSpec{
		ID:      one.exec(),
		UID:     uid,
		Dir:     cri.Drive,
		Env:     s.cfg.Launch.Env,
		Args:    s.cfg.Launch.ListArguments(one.target("list-")),
		Inside:  c.workDir(),
		FIFODir: c.dir(),
	})
	if err == nil && exit.Code != 0 {
		err = refuse(Fail, "the processes of compute system %q are not listed: code %d", id, exit.Code)
	}
	if err != nil {
		return nil, err
	}

	return cri.ReadProcesses(one.file("list-"))
}
