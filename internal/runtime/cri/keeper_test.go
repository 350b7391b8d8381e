package cri_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"mullion.dev/mullion/internal/runtime/cri/critest"
	"mullion.dev/mullion/internal/runtime/cri/stream"
)

// TestMain is a keeper of streams, too: "<test> keeper <socket>".
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "keeper" {
		if err := stream.Serve(context.Background(), os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestKeeperIsReplaced: without a keeper, the first container that has filled its FIFO would stand still.
func TestKeeperIsReplaced(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	n := critest.MakeNode(t)
	n.StopKeeper()
	n.Config.Keeper = []string{self, "keeper"}
	n.Start(t)
	keeper := stream.NewClient(filepath.Join(n.Config.RunDir, "keeper.sock"), nil)
	t.Cleanup(func() {
		n.Stop(t) // else it would start another keeper
		if err := keeper.Quit(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("end keeper: %v", err)
		}
	})

	pod := n.RunPod(t, "web")
	talks, silent := n.Run(t, pod, "talks"), n.Run(t, pod, "silent")
	say := func(id, text string) {
		t.Helper()
		if _, err := fmt.Fprintln(n.Engine.Process(id).Stdout, text); err != nil {
			t.Fatal(err)
		}
	}
	say(talks, "one")
	critest.Eventually(t, "the first line is logged",
		func() bool { return n.ContainerLog(t, talks) == "stdout F one\n" })
	ended, err := keeper.Watch(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}

	if err := keeper.Quit(t.Context()); err != nil {
		t.Fatal(err)
	}

	<-ended
	critest.Eventually(t, "another keeper is there", func() bool {
		_, err := keeper.Watch(t.Context(), nil)
		return err == nil
	})
	say(talks, "two")
	critest.Eventually(t, "the second line is logged", func() bool {
		return n.ContainerLog(t, talks) == "stdout F one\nstdout F two\n"
	})
	say(silent, "at last")
	for _, id := range []string{talks, silent} {
		if err := n.Engine.Process(id).Exit(0); err != nil {
			t.Fatal(err)
		}
		n.WaitExit(t, id)
	}

	if log := n.ContainerLog(t, silent); log != "stdout F at last\n" {
		t.Errorf("log of the silent container: %q", log)
	}
	stop(t, n, pod)
	remove(t, n, pod)
	if left := n.Left(); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
