package parts

import (
	"context"
	"errors"
	"time"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
	"mullion.dev/mullion/internal/controlplane/localstorage"
	"mullion.dev/mullion/internal/process/proc"
)

// LocalStorage is the provisioner of volumes on the nodes' disks, with the StorageClass that names it.
type LocalStorage struct {
	*localstorage.Controller
	Client func() (kubeclient.Interface, error)
}

// Start puts the StorageClass in place and starts the provisioner.
func (s *LocalStorage) Start(ctx context.Context) error {
	client, err := s.Client()
	if err != nil {
		return err
	}

	for begin := time.Now(); ; { // a busy API server may lose a connection
		err := bootstrap.ApplyStorageClass(ctx, client, localstorage.Class, localstorage.Provisioner)
		if err == nil {
			return s.Controller.Start(ctx)
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(proc.Pace(200*time.Millisecond, time.Since(begin))):
		}
	}
}
