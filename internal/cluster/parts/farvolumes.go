package parts

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/google/uuid"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/controlplane/localstorage"
	"mullion.dev/mullion/internal/machines"
	"mullion.dev/mullion/internal/process/component"
)

// FarVolumes is the component that makes and removes the folders of volumes on a machine that joined, as the machine
// with the control plane asks for them.
type FarVolumes struct {
	Client func() (kubeclient.Interface, error)
	// Part is the machine's number, Nodes the names of its nodes.
	Part  int
	Nodes []string
	// Place says where a node's volumes are; false for a node of another machine.
	Place func(node string) (localstorage.Place, bool)
	Log   *slog.Logger

	cancel context.CancelFunc
	ended  <-chan struct{}
}

// ID implements component.Component.
func (*FarVolumes) ID() component.ID { return component.Sole("local-storage") }

// Start begins to follow which folders are wanted.
func (v *FarVolumes) Start(ctx context.Context) error {
	client, err := v.Client()
	if err != nil {
		return err
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	v.cancel = cancel
	v.ended, err = machines.VolumeKeeper{
		Part:   v.Part,
		Nodes:  v.Nodes,
		Do:     v.do,
		Failed: func(err error) { v.Log.Error("keep volumes", "error", err) },
	}.Keep(run, client)
	return err
}

// do makes or removes the folder of one volume. It takes only names that the provisioner gives, and touches nothing
// outside of the node's folder of volumes.
func (v *FarVolumes) do(node, volume string, task machines.Task) error {
	place, ok := v.Place(node)
	if id, pvc := strings.CutPrefix(volume, "pvc-"); !ok || !pvc || uuid.Validate(id) != nil {
		return fmt.Errorf("volume %q of node %q is none of this machine's", volume, node)
	}
	switch task {
	case machines.Make:
		return place.Make(volume)
	case machines.Remove:
		return place.Remove(volume)
	}
	return fmt.Errorf("%q is nothing that is done with volumes", task)
}

// Stop ends the watch; volumes stay.
func (v *FarVolumes) Stop(context.Context) error {
	if v.cancel != nil {
		v.cancel()
		if v.ended != nil {
			<-v.ended
		}
	}
	return nil
}
