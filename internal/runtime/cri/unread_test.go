package cri_test

import (
	"strings"
	"sync"
	"testing"

	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/cri/critest"
	"mullion.dev/mullion/internal/runtime/engine"
)

// TestUnread: all containers of a pod end whose sockets hold too much, and none of another.
func TestUnread(t *testing.T) {
	var mu sync.Mutex
	var told []cri.Notice
	notices := func() []cri.Notice {
		mu.Lock()
		defer mu.Unlock()
		return told
	}

	n := critest.NewNode(t, func(c *cri.Config) {
		c.Tell = func(n cri.Notice) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, n)
		}
	})

	hoards, reads := n.RunPod(t, "hoards"), n.RunPod(t, "reads")
	n.Engine.SetUnread(n.Network.NetNS(reads), engine.MostUnread)
	app := n.Run(t, hoards, "app")
	sidecar := n.Run(t, hoards, "sidecar")
	other := n.Run(t, reads, "app")

	n.Engine.SetUnread(n.Network.NetNS(hoards), engine.MostUnread+1)
	for _, id := range []string{app, sidecar} {
		if st := n.WaitExit(t, id); st.GetExitCode() != 137 || st.GetReason() != "OOMKilled" {
			t.Errorf("exit code %d, reason %q", st.GetExitCode(), st.GetReason())
		}
	}

	critest.Eventually(t, "both ends are told", func() bool { return len(notices()) == 2 })
	for _, notice := range notices() {
		if notice.Pod != "hoards" || notice.Reason != cri.ReasonUnread ||
			!strings.Contains(notice.Message, "16 MiB of answers") {
			t.Errorf("told is %+v", notice)
		}
	}

	// One that is started again, in a pod that has read meanwhile, lives.
	n.Engine.SetUnread(n.Network.NetNS(hoards), 0)
	again := n.Run(t, hoards, "again")
	for _, id := range []string{again, other} {
		if st := n.Status(t, id); st.GetState() != running {
			t.Errorf("a container that reads is %v", st)
		}
	}
}
