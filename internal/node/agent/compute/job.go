package compute

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/windows/jobobject"
)

// queryJob answers what the job object of a container says of an information class, given as a number; without one it
// only says that there is such a job object.
func queryJob(ctx context.Context, source Source, id, number string) (hns.Reply, error) {
	all := source.ComputeSystems()
	at := slices.IndexFunc(all, func(s cri.ComputeSystem) bool { return strings.EqualFold(s.ID, id) })
	if at < 0 {
		return hns.Reply{}, wire.Errorf(NotFound, "no container %q", id)
	}
	if number == "" {
		return hns.Reply{}, nil
	}

	class, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return hns.Reply{}, wire.Errorf(wire.EInvalidArg, "class %q", number)
	}
	limits, err := source.JobObject(all[at].ID)
	if err != nil {
		return hns.Reply{}, wire.Errorf(NotFound, "%v", err)
	}

	var usage jobobject.Usage
	if jobobject.Class(class).NeedsUsage() {
		if usage, err = usageOfJob(ctx, source, all[at].ID); err != nil {
			return hns.Reply{}, wire.Errorf(NotFound, "%v", err) // it has ended meanwhile
		}
	}

	answer, ok := jobobject.Information(jobobject.Class(class), limits, usage)
	if !ok {
		return hns.Reply{}, wire.Errorf(wire.ENotImpl, "class %d", class)
	}
	return hns.Reply{Raw: answer}, nil
}

func usageOfJob(ctx context.Context, source Source, id string) (jobobject.Usage, error) {
	u, err := source.ComputeUsage(ctx, id)
	return jobobject.Usage{
		User:       u.User,
		Kernel:     u.Kernel,
		PageFaults: u.PageFaults,
		Processes:  u.Processes,
		Commit:     u.Commit,
		Reads:      jobobject.Transfers(u.Reads),
		Writes:     jobobject.Transfers(u.Writes),
	}, err
}
