package podnet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path"
	"path/filepath"

	"github.com/containernetworking/cni/libcni"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/spec"
)

// ownPlugin connects pods with the plugin that Mullion puts on the host, win-bridge.exe or win-overlay.exe.
// host-local.exe gives the addresses out.
type ownPlugin struct {
	ranged
	cni  cni
	conf *libcni.NetworkConfigList // nil until there is a range; guarded by ranged.mu
}

// newOwnPlugin reads the configuration that SetRange of an earlier process wrote.
func newOwnPlugin(cfg Config) (*ownPlugin, error) {
	p := &ownPlugin{ranged: ranged{cfg: cfg}, cni: newCNI(cfg, BinDir)}
	data, err := beneath.ReadIn(cfg.Drive, p.confName(), maxFile)
	if errors.Is(err, os.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, err
	}

	conf, err := libcni.ConfListFromBytes(data)
	if err == nil {
		p.held.four, err = cidrOf(data)
	}
	if err != nil {
		return nil, fmt.Errorf("read CNI configuration %q: %w", p.confPath(), err)
	}
	p.conf = conf
	return p, nil
}

// confPath returns the CNI configuration on this machine.
func (p *ownPlugin) confPath() string { return filepath.Join(p.cfg.Drive, p.confName()) }

// confName returns the CNI configuration below the host's drive.
func (p *ownPlugin) confName() string {
	return path.Join(confFolder, "10-"+NetworkName(p.cfg.Mode)+".conflist")
}

// configuration returns the CNI configuration for the plugin, as it is now: a person's changes hold for the pods that
// come. It is nil until there is a range.
func (p *ownPlugin) configuration() (*libcni.NetworkConfigList, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.conf == nil {
		return nil, nil // there is none, and nothing is wrong
	}

	drive, err := os.OpenRoot(p.cfg.Drive) // links must not lead out of the drive
	if err != nil {
		return nil, err
	}
	defer drive.Close()
	conf, err := readConf(drive, p.confName())
	if err != nil {
		return nil, fmt.Errorf("read CNI configuration %q: %w", p.confPath(), err)
	}

	return conf, nil
}

// Add implements connector.
func (p *ownPlugin) Add(ctx context.Context, namespace string, pod Pod) ([]netip.Addr, error) {
	conf, err := p.configuration()
	if err != nil {
		return nil, err
	}
	return p.cni.add(ctx, conf, namespace, pod)
}

// Del implements connector. It runs the plugin's DEL even if the pod's namespace is lost, because only DEL gives the
// address back to host-local.exe, and with the configuration by which the pod was connected. A pod that no plugin
// remembers has the configuration of now, if its namespace is there.
func (p *ownPlugin) Del(ctx context.Context, namespace string, pod Pod, there bool) error {
	confs, err := p.cni.used(namespace, pod)
	if err != nil {
		return err
	}

	if len(confs) == 0 && there {
		conf, err := p.configuration()
		if err != nil || conf == nil {
			return err
		}
		confs = append(confs, conf)
	}

	for _, conf := range confs {
		if err := p.cni.DelNetworkList(ctx, conf, runtimeConf(namespace, pod)); err != nil {
			return err
		}
	}

	return nil
}

// SetRange implements connector.
func (p *ownPlugin) SetRange(ctx context.Context, cidrs ...netip.Prefix) error {
	return p.set(ctx, cidrs, p.remember)
}

// remember writes the CNI configuration, which tells a later process the range.
func (p *ownPlugin) remember(ctx context.Context, r ranges) error {
	data, err := p.confList(r.four)
	if err != nil {
		return err
	}
	conf, err := libcni.ConfListFromBytes(data)
	if err != nil {
		return err
	}

	// The configuration is written last: pods get addresses only when the host has its own.
	if p.cfg.Mode == spec.ModeOverlay {
		if err := p.ensureSourceVIP(ctx, r.four); err != nil {
			return err
		}
	}

	if err := writeOf(p.cfg.Drive, p.confName(), data); err != nil {
		return err
	}
	p.conf = conf
	return nil
}

// ConfList returns the CNI configuration of a host with that pod CIDR, for win-bridge.exe, or win-overlay.exe in mode
// overlay. Of cfg only Mode, Address, Local, Pods and Services are read.
func ConfList(cfg Config, cidr netip.Prefix) ([]byte, error) {
	return (&ownPlugin{ranged: ranged{cfg: cfg}}).confList(cidr)
}

// confList returns the CNI configuration of a host with that pod CIDR. Pods do not get .1, the HNS network's gateway,
// nor, on a bridge, .2, the host itself, which win-bridge.exe makes the pods' gateway.
func (p *ownPlugin) confList(cidr netip.Prefix) ([]byte, error) {
	exceptions := p.cfg.exceptions()
	conf := map[string]any{
		"type":         "win-bridge",
		"apiVersion":   2,
		"capabilities": map[string]bool{"dns": true, "portMappings": true},
		"ipam":         p.ipam(cidr),
	}

	policies := []any{policy(wire.PolicyOutBoundNAT, wire.OutBoundNATSetting{Exceptions: exceptions})}
	if p.cfg.Mode == spec.ModeOverlay {
		// As flannel delegates to win-overlay: beyond the overlay packets carry the host's address, also on the
		// underlay, which does not know pods; packets to Services are encapsulated as if for a pod.
		exceptions = []string{p.cfg.Pods.String(), p.cfg.Services.String()}
		policies = []any{
			policy(wire.PolicyOutBoundNAT, wire.OutBoundNATSetting{Exceptions: exceptions}),
			policy(wire.PolicySDNRoute, wire.SDNRouteSetting{
				DestinationPrefix: p.cfg.Services.String(),
				NeedEncap:         true,
			}),
			policy(wire.PolicyProviderAddress, wire.ProviderAddressSetting{ProviderAddress: p.cfg.Address.String()}),
		}

		conf["type"], conf["capabilities"] = "win-overlay", map[string]bool{"dns": true}
	}

	conf["policies"] = policies
	list := map[string]any{"cniVersion": "1.0.0", "name": NetworkName(p.cfg.Mode), "plugins": []any{conf}}
	return json.MarshalIndent(list, "", "  ")
}

func policy(kind string, settings any) map[string]any {
	return map[string]any{"name": "EndpointPolicy", "value": map[string]any{"Type": kind, "Settings": settings}}
}

// ipam returns host-local.exe's part of the configuration.
func (p *ownPlugin) ipam(cidr netip.Prefix) map[string]any {
	first := cidr.Addr().Next().Next()
	if hasHostEndpoint(p.cfg.Mode) {
		first = first.Next()
	}
	return map[string]any{
		"type":    "host-local",
		"dataDir": `C:\var\lib\cni\networks`, // the default, with a drive: without one it would be the current drive
		"ranges":  [][]map[string]string{{{"subnet": cidr.String(), "rangeStart": first.String()}}},
	}
}

// cidrOf reads the pod CIDR back out of a configuration.
func cidrOf(data []byte) (netip.Prefix, error) {
	var conf struct {
		Plugins []struct {
			IPAM struct {
				Ranges [][]struct{ Subnet string }
			}
		}
	}

	if err := json.Unmarshal(data, &conf); err != nil {
		return netip.Prefix{}, err
	}
	if len(conf.Plugins) == 0 || len(conf.Plugins[0].IPAM.Ranges) == 0 || len(conf.Plugins[0].IPAM.Ranges[0]) == 0 {
		return netip.Prefix{}, errors.New("no subnet in it")
	}
	return netip.ParsePrefix(conf.Plugins[0].IPAM.Ranges[0][0].Subnet)
}
