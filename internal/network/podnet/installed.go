package podnet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"github.com/containernetworking/cni/libcni"

	"mullion.dev/mullion/internal/base/beneath"
)

// Places where others install CNI plugins and configuration: what SIG Windows' Install-Containerd.ps1 tells containerd,
// and DaemonSets for Windows nodes rely on
// (https://github.com/kubernetes-sigs/sig-windows-tools/blob/401ee6f/hostprocess/Install-Containerd.ps1).
const (
	InstalledBinDir  = `C:\opt\cni\bin`
	InstalledConfDir = `C:\etc\cni\net.d`
	// installedConf is InstalledConfDir below the host's drive.
	installedConf = "etc/cni/net.d"
)

// ErrNoCNI says that nobody has installed a CNI plugin yet, in containerd's words, which people look for
// (containerd v2.4.2, internal/cri/server/status.go, and github.com/containerd/go-cni v1.1.13, errors.go).
var ErrNoCNI = errors.New("Network plugin returns error: cni plugin not initialized")

// installed connects pods with a plugin that others install on the host, with its configuration and the HNS network.
type installed struct {
	cfg Config
	cni cni
}

func newInstalled(cfg Config) *installed {
	return &installed{cfg: cfg, cni: newCNI(cfg, InstalledBinDir)}
}

// Ready implements connector.
func (n *installed) Ready() error {
	_, err := n.configuration()
	return err
}

// SetRange implements connector. It does nothing: the installed plugin gets the range from the API, as with containerd
// on Windows.
func (*installed) SetRange(context.Context, ...netip.Prefix) error { return nil }

// Range implements connector.
func (*installed) Range() netip.Prefix { return netip.Prefix{} }

// Add implements connector.
func (n *installed) Add(ctx context.Context, namespace string, pod Pod) ([]netip.Addr, error) {
	conf, err := n.configuration()
	if err != nil {
		return nil, err
	}
	return n.cni.add(ctx, conf, namespace, pod)
}

// Del implements connector. It runs the DEL of the plugins that connected the pod.
func (n *installed) Del(ctx context.Context, namespace string, pod Pod, there bool) error {
	confs, err := n.used(namespace, pod, there)
	for _, conf := range confs {
		err = errors.Join(err, n.cni.DelNetworkList(ctx, conf, runtimeConf(namespace, pod)))
	}
	return err
}

// Configured reports whether others have installed a CNI configuration on the host whose C: is drive.
func Configured(drive string) bool {
	_, err := (&installed{cfg: Config{Drive: drive}}).configuration()
	return !errors.Is(err, ErrNoCNI)
}

// mostConfs bounds the entries of a folder of which one is read.
const mostConfs = 10_000

// configuration reads the configuration that others installed: the first by name of the files *.conf, *.conflist and
// *.json, as containerd does (github.com/containerd/go-cni v1.1.13, opts.go, with containerd's max_conf_num of 1).
func (n *installed) configuration() (*libcni.NetworkConfigList, error) {
	drive, err := os.OpenRoot(n.cfg.Drive) // links must not lead out of the drive
	if err != nil {
		return nil, err
	}
	defer drive.Close()

	entries, err := beneath.ReadFolder(drive, installedConf, mostConfs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoCNI
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoCNI, err)
	}

	for _, e := range entries { // by name
		if !slices.Contains([]string{".conf", ".conflist", ".json"}, filepath.Ext(e.Name())) {
			continue
		}
		conf, err := readConf(drive, filepath.Join(installedConf, e.Name()))
		if err != nil {
			return nil, fmt.Errorf(`%w: %s\%s: %w`, ErrNoCNI, InstalledConfDir, e.Name(), err)
		}
		return conf, nil
	}

	return nil, ErrNoCNI
}

// readConf reads a list of plugins, or one plugin.
func readConf(drive *os.Root, name string) (*libcni.NetworkConfigList, error) {
	data, err := beneath.Read(drive, name, maxFile)
	if err != nil {
		return nil, err
	}

	if filepath.Ext(name) == ".conflist" {
		conf, err := libcni.NetworkConfFromBytes(data)
		if err == nil && len(conf.Plugins) == 0 {
			err = errors.New("it has no plugins")
		}
		return conf, err
	}

	one, err := libcni.NetworkPluginConfFromBytes(data)
	if err != nil {
		return nil, err
	}

	list, err := json.Marshal(map[string]any{
		"name": one.Network.Name, "cniVersion": one.Network.CNIVersion,
		"plugins": []json.RawMessage{data},
	})
	if err != nil {
		return nil, err
	}

	return libcni.NetworkConfFromBytes(list)
}

// used returns the configurations with which to disconnect a pod: those with which it was connected, whatever is
// installed now, or the installed one for a pod whose Add was cut short.
func (n *installed) used(id string, pod Pod, there bool) ([]*libcni.NetworkConfigList, error) {
	all, err := n.cni.used(id, pod)
	if err != nil {
		return nil, err
	}
	if len(all) > 0 || !there {
		return all, nil
	}

	conf, err := n.configuration()
	if errors.Is(err, ErrNoCNI) {
		return nil, nil // no plugin was run for the pod
	}
	return []*libcni.NetworkConfigList{conf}, err
}
