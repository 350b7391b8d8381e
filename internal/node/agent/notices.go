package agent

import (
	"mullion.dev/mullion/internal/node/agent/admin"
	"mullion.dev/mullion/internal/runtime/cri"
)

// newNotices makes room for what is not told yet: the cluster's supervisor, which makes events of it, may be away for a
// while.
func newNotices() chan admin.Notice { return make(chan admin.Notice, 100) }

// notice keeps what happened to a pod until it is told. What there is no room for is only logged.
func (a *agent) notice(n cri.Notice) {
	a.log.Info("event of a pod", "pod", n.Namespace+"/"+n.Pod, "reason", n.Reason, "message", n.Message)
	select {
	case a.notices <- admin.Notice(n):
	default:
		a.log.Warn("event of a pod not told: too many wait", "pod", n.Namespace+"/"+n.Pod, "reason", n.Reason)
	}
}
