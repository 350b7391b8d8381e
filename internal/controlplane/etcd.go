package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"mullion.dev/mullion/internal/process/proc"
)

// etcd is the program that keeps the cluster's objects.
//
// etcd makes its log first and writes into it who its members are a moment later. A SIGKILL in between leaves a log
// without a member: etcd starts with it, elects nobody and never serves. So a mark lies beside data that has not served
// yet, and data that still has its mark at a start is made anew. There is no object in it.
type etcd struct {
	*proc.Process
	dir string
}

// Start starts etcd, and returns when it serves.
func (e etcd) Start(ctx context.Context) error {
	mark := filepath.Join(e.dir, "not-served")

	if err := e.prepare(mark); err != nil {
		return fmt.Errorf("prepare etcd's data: %w", err)
	}
	if err := e.Process.Start(ctx); err != nil {
		return err
	}

	if err := e.served(mark); err != nil {
		return fmt.Errorf("mark etcd's data as served: %w", err)
	}
	return nil
}

// served removes the mark. It is gone from the disk before anybody writes an object: with a mark that came back after a
// loss of power, all objects would go.
func (e etcd) served(mark string) error {
	if err := os.Remove(mark); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}

	dir, err := os.Open(e.dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// prepare removes data that never served, and marks data that is new.
func (e etcd) prepare(mark string) error {
	data := filepath.Join(e.dir, "member")

	switch _, err := os.Lstat(mark); {
	case err == nil:
		return os.RemoveAll(data)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}

	switch _, err := os.Lstat(data); {
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}

	return os.WriteFile(mark, nil, 0o600)
}

// startOldEtcd starts an etcd that does not listen at a socket that is there already: one that was killed leaves its
// own.
func (c Config) startOldEtcd(_ context.Context, cmd *exec.Cmd) error {
	if err := os.Remove(c.etcdSocket()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove etcd's socket: %w", err)
	}
	return cmd.Start()
}
