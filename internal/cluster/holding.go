package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"mullion.dev/mullion/internal/cluster/hold"
	"mullion.dev/mullion/internal/cluster/layout"
)

// Hold takes the lock of a cluster for several changes that belong together (package hold). Each of this package's
// functions that changes a cluster takes it by itself, unless its context has it already.
func Hold(ctx context.Context, paths layout.Paths) (context.Context, *hold.Held, error) {
	ctx, held, err := hold.Take(ctx, paths.Run())
	return ctx, held, busy(err)
}

// busy gives an error of hold.Take its remedy, if another command keeps the cluster from being changed.
func busy(err error) error {
	var other *hold.BusyError
	if !errors.As(err, &other) || errors.Is(err, context.Canceled) {
		return err
	}
	remedy := "try again when it has ended"
	if pid := other.Holder.PID; pid != 0 {
		remedy += fmt.Sprintf("; if it hangs, `kill %d` ends it", pid)
	}
	return &ConflictError{Err: err, Remedy: remedy}
}

// ErrTakenDown says that another command has removed the cluster that this one was busy with.
var ErrTakenDown = errors.New("another command has taken the cluster down")

// folder is a data folder that is watched: an open file of it, by which it is known from one that another command has
// made in its place.
type folder struct{ file *os.File }

// versionFile returns the file by which a data folder is known, which Paths.Prepare makes.
func versionFile(paths layout.Paths) string { return filepath.Join(paths.Data, "version") }

// watchFolder watches a data folder that is there.
func watchFolder(paths layout.Paths) (folder, error) {
	file, err := os.Open(versionFile(paths))
	if err != nil {
		return folder{}, fmt.Errorf("look at the data folder: %w", err)
	}
	return folder{file}, nil
}

// isThere reports whether the folder is still the one that is watched; of the zero folder it always is.
func (f folder) isThere() bool {
	if f.file == nil {
		return true
	}
	own, err := f.file.Stat() // its inode is nobody else's while it is open
	if err != nil {
		return true
	}
	there, err := os.Stat(f.file.Name())
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	return err != nil || os.SameFile(own, there)
}

// Close ends the watch.
func (f folder) Close() { _ = f.file.Close() }
