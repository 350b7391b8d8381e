package cri

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/windows/wire/piperelay"
)

// The kubelet keeps a hosts file for each pod, writes it anew before each container is made, and mounts it where every
// program of the container may write. It stays until the pod's object goes, and counts in no limit, so it could take
// the node's disk. So each container gets a copy in its working folder, which is small and in memory. What one
// container changes there the others of its pod do not see, and the next start forgets, as it does with the kubelet's.

// hostsTarget is the hosts file on C:, as inDrive has it.
const hostsTarget = "/windows/system32/drivers/etc/hosts"

// hostsName is the file of the working folder.
const hostsName = "hosts"

// mostHosts is how long a hosts file may be: what a pod's hostAliases are at most, as etcd takes no larger object.
const mostHosts = 2 << 20

// boundHosts replaces the kubelet's hosts file of a pod, by its UID, among the sources of a container's mounts by a
// copy in the working folder. What a pod mounts at that place itself is left as it is.
func boundHosts(pod string, config *runtimeapi.ContainerConfig, mounts []engine.Mount, runDir string) error {
	i := hostsMount(pod, config)
	if i < 0 {
		return nil
	}
	source := mounts[i].Source
	info, err := source.Stat()
	if err != nil {
		return fmt.Errorf("look at hosts file: %w", err)
	}

	if !info.Mode().IsRegular() {
		return fmt.Errorf("copy hosts file %q: it is no file but %v", source.Name(), info.Mode())
	}

	file, err := copyHosts(source, filepath.Join(runDir, hostsName))
	if err != nil {
		return fmt.Errorf("copy hosts file %q: %w", source.Name(), err)
	}
	mounts[i].Source = file
	return source.Close()
}

// hostsMount returns the index, among the mounts that are no pipes, of the one of a pod's hosts file; -1 without one.
func hostsMount(pod string, config *runtimeapi.ContainerConfig) int {
	// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/kubelet/kubelet_pods.go, getEtcHostsPath
	kubelets := strings.ToLower("/var/lib/kubelet/pods/" + pod + "/etc-hosts")
	i := 0
	for _, m := range config.GetMounts() {
		if piperelay.IsPipe(m.GetHostPath()) {
			continue
		}
		if inDrive(m.GetHostPath()) == kubelets && inDrive(m.GetContainerPath()) == hostsTarget {
			return i
		}
		i++
	}
	return -1
}

// copyHosts makes a new file with what an open one has, and returns it.
func copyHosts(source *os.File, name string) (*os.File, error) {
	from, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", source.Fd())) // the source is open without leave to read
	if err != nil {
		return nil, err
	}
	defer from.Close()
	text, err := io.ReadAll(io.LimitReader(from, mostHosts+1))
	if err != nil {
		return nil, err
	}
	if len(text) > mostHosts {
		return nil, fmt.Errorf("it has more than %d bytes", mostHosts)
	}
	return ownFile(name, text)
}

// ownFile makes a file of a working folder that every user of the container may write.
func ownFile(name string, text []byte) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	if _, err = file.Write(text); err == nil {
		err = file.Chmod(0o666) // whatever the umask
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
