package engine

import (
	"errors"
	"path"
	"time"

	"mullion.dev/mullion/internal/base/cgroup"
)

// liftedShare is that of a pod that goes ahead of other pods, as much as fifty of them. The programs of the node's host
// go before it all the same.
const liftedShare = cgroup.OwnShare / 2

// Lift gives all containers of a pod together more of the processors than other pods have, when there is not enough for
// all, or as much as they have. Limits of containers stay as they are. A pod that has no running container is no error.
func (e *Engine) Lift(pod string, up bool) error {
	if e.processors == nil {
		return nil
	}
	share := int64(cgroup.UsualShare)
	if up {
		share = liftedShare
	}
	err := e.processors.Weigh(path.Join(e.opts.CgroupParent, pod), share)
	if !up && cgroup.IsGone(err) {
		return nil
	}
	return err
}

// Used returns how much time of processors all containers of a pod together have had.
func (e *Engine) Used(pod string) (time.Duration, error) {
	if e.processors == nil {
		return 0, nil
	}
	return e.processors.Time(path.Join(e.opts.CgroupParent, pod))
}

// findProcessors finds what Lift needs, nil on a machine that does not weigh processors.
func findProcessors() (*cgroup.Processors, error) {
	p, err := cgroup.FindProcessors()
	if errors.Is(err, cgroup.ErrNoController) {
		return nil, nil
	}
	return &p, err
}
