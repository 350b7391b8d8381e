package parts

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient/fake"
	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/node/agent/admin"
)

// TestPodEvents: what an agent tells becomes events of the pods, also what it has kept while nobody listened, and after
// the agent was started again.
func TestPodEvents(t *testing.T) {
	dir, err := os.MkdirTemp("", "events-") //nolint:usetesting // the test's own folder is too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	client := fake.NewClientset()
	socket := filepath.Join(dir, "s")
	notices := make(chan admin.Notice, 10)
	serve := func() (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() {
			served <- admin.Serve(ctx, socket, admin.Agent{
				Notices: notices,
				Level:   logging.NewDial(logging.Info),
				Log:     slog.New(slog.DiscardHandler),
			})
		}()

		return func() {
			cancel()
			if err := <-served; err != nil {
				t.Errorf("serve: %v", err)
			}
		}
	}

	told := func(pod string) func() bool {
		return func() bool {
			events, err := client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}

			for _, e := range events.Items {
				of := e.InvolvedObject
				if of.Name == pod && of.UID == "u" && e.Reason == "Why" && e.Message == "because" {
					return true
				}
			}

			return false
		}
	}

	notice := func(pod string) {
		notices <- admin.Notice{
			Namespace: "default",
			Pod:       pod,
			UID:       "u",
			Reason:    "Why",
			Message:   "because",
		}
	}
	notice("before")
	events := &PodEvents{
		Node:   "win-1",
		Socket: socket,
		Client: always(client),
	}

	if err := events.Start(t.Context()); err != nil {
		t.Fatal(err)
	}

	stop := serve()
	eventually(t, "what was kept is told", told("before"))
	stop()
	notice("away")
	stop = serve()
	eventually(t, "what happened meanwhile is told", told("away"))
	if err := events.Stop(t.Context()); err != nil {
		t.Error(err)
	}

	stop()
}
