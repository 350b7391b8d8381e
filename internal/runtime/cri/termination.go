package cri

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/windows/wire/piperelay"
)

// The kubelet mounts a file of its own into each container, for the container's termination message, and reads its end
// when the container has ended. On the node's disk such a file could grow without bound, and would count in no limit.
// So the container gets a file of its working folder instead, which is small and in memory, and what the kubelet will
// read of it is written to the kubelet's file as soon as the container has ended.

// annotationTerminationPath is the annotation in which the kubelet names the file as the pod does
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/kuberuntime/labels.go).
const annotationTerminationPath = "io.kubernetes.container.terminationMessagePath"

// terminationName is the file of the working folder.
const terminationName = "termination-log"

// terminationMount returns the index of the mount for the termination message; -1 without one. It is the kubelet's last
// mount: a volume that a pod mounts at the same path comes before it.
func terminationMount(config *runtimeapi.ContainerConfig) int {
	named := config.GetAnnotations()[annotationTerminationPath]
	if named == "" {
		return -1
	}
	last := len(config.GetMounts()) - 1
	if last < 0 || inDrive(config.GetMounts()[last].GetContainerPath()) != inDrive(named) ||
		piperelay.IsPipe(config.GetMounts()[last].GetHostPath()) {
		return -1
	}
	return last
}

// inDrive returns a path of drive C: in the one form in which two can be compared, "/dev/termination-log".
func inDrive(winPath string) string {
	p := strings.ToLower(strings.ReplaceAll(winPath, `\`, "/"))
	return path.Clean("/" + strings.TrimPrefix(p, "c:"))
}

// boundTermination replaces the source of the termination message's mount by a file of the working folder, and returns
// where on the machine the kubelet's own file is; "" if there is none.
func boundTermination(config *runtimeapi.ContainerConfig, mounts []engine.Mount, runDir string) (string, error) {
	if terminationMount(config) < 0 {
		return "", nil
	}
	i := len(mounts) - 1 // the last one here too: config has pipes besides, of which it is none
	source := mounts[i].Source
	info, err := source.Stat()
	if err != nil {
		return "", fmt.Errorf("look at file of termination message: %w", err)
	}

	if !info.Mode().IsRegular() {
		return "", nil
	}
	kubelets, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", source.Fd()))
	if err != nil {
		return "", fmt.Errorf("find file of termination message: %w", err)
	}

	file, err := ownFile(filepath.Join(runDir, terminationName), nil)
	if err != nil {
		return "", fmt.Errorf("make file for termination message: %w", err)
	}
	mounts[i].Source = file
	return kubelets, source.Close()
}

// passTermination writes the end of a container's termination message to the kubelet's file. Nothing is written if the
// kubelet's file is gone.
func (s *Server) passTermination(c store.Container) error {
	if c.TerminationLog == "" {
		return nil
	}
	text, err := lastWords(filepath.Join(s.runDir(c), terminationName))
	if err != nil || len(text) == 0 {
		return err
	}

	// The path was without links when the file was opened for the mount, and must still be.
	fd, err := unix.Openat2(unix.AT_FDCWD, c.TerminationLog, &unix.OpenHow{
		Flags:   unix.O_WRONLY | unix.O_TRUNC | unix.O_NONBLOCK | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if errors.Is(err, unix.ENOENT) {
		return nil
	}

	if err != nil {
		return fmt.Errorf("open file of termination message %q: %w", c.TerminationLog, err)
	}
	file := os.NewFile(uintptr(fd), c.TerminationLog)
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

// lastWords returns the end of a container's file, as much as the kubelet reads. The folder belongs to the container's
// user: see openOwned. Without the file there are no words.
func lastWords(file string) ([]byte, error) {
	f, err := openOwned(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read termination message: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read termination message: %w", err)
	}

	if _, err := f.Seek(max(info.Size()-maxText, 0), io.SeekStart); err != nil {
		return nil, fmt.Errorf("read termination message: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxText))
	if err != nil {
		return nil, fmt.Errorf("read termination message: %w", err)
	}
	return text, nil
}
