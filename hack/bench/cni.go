package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/hcn"
	"mullion.dev/mullion/internal/network/podnet"
	"mullion.dev/mullion/internal/windows/wine"
)

func (b *bench) paths() layout.Paths { return layout.Paths{Data: b.data, Bin: b.bin} }

func (b *bench) client() (kubeclient.Interface, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", b.paths().AdminKubeconfig())
	if err != nil {
		return nil, err
	}
	cfg.QPS, cfg.Burst = 2000, 2000
	return kubeclient.NewForConfig(cfg)
}

// cni measures win-bridge.exe's ADD on a Windows host and its parts: the start of a Windows program (the plugin's
// VERSION), and host-local.exe, which ADD starts.
func (b *bench) cni(ctx context.Context) ([]figure, error) {
	host, err := cluster.LoadHost(b.paths(), "win-1")
	if err != nil {
		return nil, err
	}
	client, err := cluster.HNS(ctx, b.paths(), "win-1")
	if err != nil {
		return nil, err
	}
	defer client.Close()

	conf, err := pluginConf(filepath.Join(wine.Drive(cluster.HostPrefix(b.paths(), "win-1")),
		"Program Files/containerd/cni/conf/10-"+podnet.NetworkName("l2bridge")+".conflist"))
	if err != nil {
		return nil, err
	}

	run := func(program, command, id string) (float64, error) {
		started := time.Now()
		_, err := host.Output(ctx, conf, []string{
			"CNI_COMMAND=" + command, "CNI_CONTAINERID=bench", "CNI_NETNS=" + id, "CNI_IFNAME=eth0",
			"CNI_PATH=" + podnet.BinDir,
		}, podnet.BinDir+`\`+program+".exe")
		return time.Since(started).Seconds() * 1000, err
	}

	add := figure{
		what:  "CNI ADD, win-bridge.exe with host-local.exe",
		asked: "≤ 250 ms",
		unit:  "ms",
	}

	version := figure{what: "of which: start of win-bridge.exe (CNI VERSION)", unit: "ms"}
	ipam := figure{what: "of which: host-local.exe (CNI VERSION)", unit: "ms"}
	for i := range b.runs*2 + 1 {
		id := fmt.Sprintf("00000000-0000-4000-8000-%012d", i+1)
		if _, err := client.Call(ctx, hns.Request{
			Function: "HcnCreateNamespace",
			New:      id,
			Text:     []string{`{"Type":"Host","SchemaVersion":{"Major":2}}`},
		}); err != nil {
			return nil, err
		}

		ms, err := run("win-bridge", "ADD", id)
		if err == nil {
			_, err = run("win-bridge", "DEL", id)
		}
		if err = errors.Join(err, hcn.Delete(ctx, client, hcn.Namespace, id)); err != nil {
			return nil, err
		}

		start, err := run("win-bridge", "VERSION", "")
		if err != nil {
			return nil, err
		}
		local, err := run("host-local", "VERSION", "")
		if err != nil {
			return nil, err
		}

		if i > 0 { // the first fills caches
			add.values, version.values, ipam.values = append(add.values, ms), append(version.values, start),
				append(ipam.values, local)
		}
	}

	return []figure{add, version, ipam}, nil
}

// pluginConf returns the first plugin's configuration, as libcni hands it to the plugin.
func pluginConf(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}

	var list struct {
		CNIVersion, Name string
		Plugins          []map[string]any
	}
	if err := json.Unmarshal(data, &list); err != nil || len(list.Plugins) == 0 {
		return nil, errors.Join(fmt.Errorf("no plugin in %s", path), err)
	}
	conf := list.Plugins[0]
	conf["cniVersion"], conf["name"] = list.CNIVersion, list.Name

	return json.Marshal(conf)
}
