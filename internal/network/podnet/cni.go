package podnet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"
)

// ifName is the name of a pod's interface.
const ifName = "eth0"

// cni runs the CNI plugins of one folder of the Windows host, and caches their results.
type cni struct {
	*libcni.CNIConfig
	plugins plugins
}

func newCNI(cfg Config, binDir string) cni {
	p := plugins{PluginDecoder: &version.PluginDecoder{}, exec: cfg.Exec}
	return cni{CNIConfig: libcni.NewCNIConfigWithCacheDir([]string{binDir}, cfg.CacheDir, p), plugins: p}
}

// add runs the plugin's ADD and returns the addresses it gave.
func (c cni) add(ctx context.Context, conf *libcni.NetworkConfigList, id string, pod Pod) ([]netip.Addr, error) {
	raw, err := c.AddNetworkList(ctx, conf, runtimeConf(id, pod))
	if err != nil {
		return nil, err
	}
	result, err := current.GetResult(raw)
	if err != nil {
		return nil, err
	}

	var ips []netip.Addr
	for _, ip := range result.IPs {
		if addr, ok := netip.AddrFromSlice(ip.Address.IP); ok {
			ips = append(ips, addr.Unmap())
		}
	}
	if len(ips) == 0 {
		return nil, errors.New("the CNI plugin gave no address")
	}

	return ips, nil
}

// used returns the configurations by which a pod was connected, and not disconnected since.
func (c cni) used(id string, pod Pod) ([]*libcni.NetworkConfigList, error) {
	attachments, err := c.GetCachedAttachments(pod.ID)
	if err != nil {
		return nil, err
	}

	var all []*libcni.NetworkConfigList
	for _, a := range attachments {
		if a.NetNS != id {
			continue
		}
		conf, err := libcni.NetworkConfFromBytes(a.Config)
		if err != nil {
			return nil, fmt.Errorf("read what pod %s/%s was connected by: %w", pod.Namespace, pod.Name, err)
		}
		all = append(all, conf)
	}

	return all, nil
}

func runtimeConf(id string, pod Pod) *libcni.RuntimeConf {
	rt := &libcni.RuntimeConf{
		ContainerID: pod.ID,
		NetNS:       id,
		IfName:      ifName,
		Args: [][2]string{
			{"IgnoreUnknown", "1"},
			{"K8S_POD_NAMESPACE", pod.Namespace},
			{"K8S_POD_NAME", pod.Name},
			{"K8S_POD_INFRA_CONTAINER_ID", pod.ID},
			{"K8S_POD_UID", pod.UID},
		},
		CapabilityArgs: map[string]any{
			"dns": map[string]any{"servers": pod.DNS.Servers, "searches": pod.DNS.Searches, "options": pod.DNS.Options},
		},
	}

	var ports []map[string]any
	for _, p := range pod.Ports {
		if p.HostPort > 0 {
			ports = append(ports, map[string]any{
				"hostPort": p.HostPort, "containerPort": p.ContainerPort, "hostIP": p.HostIP,
				"protocol": strings.ToLower(p.Protocol),
			})
		}
	}

	if len(ports) > 0 {
		rt.CapabilityArgs["portMappings"] = ports
	}

	return rt
}

// plugins runs CNI plugins on the Windows host; it is libcni's invoke.Exec.
type plugins struct {
	*version.PluginDecoder
	exec Exec
}

// FindInPath returns the Windows path of a plugin, without looking whether the plugin exists.
func (plugins) FindInPath(plugin string, paths []string) (string, error) {
	if len(paths) != 1 || plugin == "" || strings.ContainsAny(plugin, `\/:`) {
		return "", fmt.Errorf("find CNI plugin %q in %q", plugin, paths)
	}
	return paths[0] + `\` + strings.TrimSuffix(plugin, ".exe") + ".exe", nil
}

// ExecPlugin runs a plugin with its CNI_ variables. If the plugin reports an error as CNI's JSON, that is the error.
func (p plugins) ExecPlugin(ctx context.Context, path string, stdin []byte, environ []string) ([]byte, error) {
	var env []string
	for _, kv := range environ {
		if strings.HasPrefix(kv, "CNI_") {
			env = append(env, kv)
		}
	}

	out, err := p.exec.Run(ctx, path, env, stdin)
	if err == nil {
		return out, nil
	}
	var told types.Error
	if json.Unmarshal(out, &told) == nil && told.Msg != "" {
		return nil, &told
	}

	return nil, fmt.Errorf("run CNI plugin %q: %w", path, err)
}
