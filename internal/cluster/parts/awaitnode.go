package parts

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/process/proc"
)

// awaitNode asks the API for a node until reached says that the node is as it is waited for, which goal names. Else
// reached returns why not.
func awaitNode(ctx context.Context, connect func() (kubeclient.Interface, error), name, goal string,
	reached func(*corev1.Node) (bool, string),
) error {
	client, err := connect()
	if err != nil {
		return err
	}

	begin, why := time.Now(), "the API has told nothing of it"
	var unanswered error // why the API's last answer said nothing about the node
	for {
		node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		switch {
		case err == nil:
			var done bool
			if done, why = reached(node); done {
				return nil
			}
			unanswered = nil

		case apierrors.IsNotFound(err):
			why, unanswered = "it has not registered", nil
		case ctx.Err() == nil: // else the error is only that the time is over
			unanswered = err
		}

		select {
		case <-ctx.Done():
			if unanswered == nil {
				return fmt.Errorf("wait for node %q to be %s: %s: %w", name, goal, why, ctx.Err())
			}
			return fmt.Errorf("wait for node %q to be %s: %s; the last question to the API failed: %w: %w",
				name, goal, why, unanswered, ctx.Err())
		case <-time.After(proc.Pace(200*time.Millisecond, time.Since(begin))):
		}
	}
}
