package documents

func introDocument() Document {
	return Document{
		Title:   "Kubernetes: introduction to Windows support, and its troubleshooting",
		Page:    "https://kubernetes.io/docs/tasks/debug/debug-cluster/windows/",
		Licence: "CC BY 4.0",
	}
}

const (
	introServices = "Node processes as native Windows services"
	introNssm     = "Node processes by nssm.exe"
	noFlannel     = "`mullion up` makes the network; where flannel does, TestFieldFlannel has upstream's flanneld.exe in a HostProcess pod, " +
		"with flags of its own, and the plugin reads the subnet.env that it writes"
)

// at returns a sample of the introduction; commands are for the node, as most there are.
func at(heading string, s Sample) Sample {
	s.Document, s.Heading = introDocument(), heading
	if s.Kind == "" {
		s.Kind = OnNode
	}
	if s.Level == "" {
		s.Level = Works
	}
	if s.Origin == "" {
		s.Origin = Verbatim
	}
	return s
}

// intro returns the samples of the introduction and of the pages that it was divided into.
func intro() []Sample {
	var all []Sample
	for _, samples := range [][]Sample{introServiceRows(), introNssmRows(), introNetwork(), introFlannel()} {
		all = append(all, samples...)
	}
	return all
}

// introNetwork returns the commands for networks, adapters and proxies.
func introNetwork() []Sample {
	const (
		ping    = "My Windows Pods cannot ping external resources"
		deleted = "vNICs and HNS endpoints of containers are being deleted"
		adapter = "No network adapter is found when starting the kubelet"
		proxy   = "My Windows Server node is behind a proxy"
	)

	return []Sample{
		at(ping, Sample{
			ID: "intro-exceptions", Kind: Settings, Level: Partly, With: "guide-webserver",
			Text: `"ExceptionList": ["10.244.0.0/16", "10.96.0.0/12", "10.127.130.0/24"]`,
			Why: "the default configuration has these three exceptions of this cluster's own networks; an edit holds for new pods (TestExceptionList) until " +
				"the node is started again, which writes the file anew: a cluster with `disableDefaultCNI` takes one of yours",
			Steps: []Step{{
				On: NodePowerShell, Run: `(Get-HnsEndpoint | ConvertTo-Json -Depth 8)`,
				Want: `"ExceptionList":.*10\.244\.0\.0/16.*10\.96\.0\.0/1\d.*10\.213\.0\.0/24`,
			}},
		}),
		at(deleted, Sample{
			ID: "intro-hostname-override", Text: `C:\k\kube-proxy.exe --hostname-override=$(hostname)`, Level: Partly, Origin: Prose,
			Why: "kube-proxy runs with its node's name already, by its configuration; the line is not run a second time beside it, " +
				"$(hostname) is the node's name",
			Steps: []Step{{On: NodePowerShell, Run: `"--hostname-override=$(hostname)"`, Want: `^--hostname-override=win-1\s*$`}},
		}),
		at(adapter, Sample{
			ID: "intro-get-hnsnetwork", Text: `Get-HnsNetwork | ? Name -ieq "cbr0"`, With: "guide-webserver",
			Steps: []Step{{On: NodePowerShell, Run: `Get-HnsNetwork | ? Name -ieq "cbr0"`, Want: `Name +: cbr0`}},
		}),
		at(adapter, Sample{
			ID: "intro-get-netadapter", Text: `Get-NetAdapter | ? Name -Like "vEthernet (Ethernet*"`, With: "guide-webserver",
			Steps: []Step{{
				On: NodePowerShell, Run: `Get-NetAdapter | ? Name -Like "vEthernet (Ethernet*"`,
				Want: `(?m)^vEthernet \(Ethernet\) +Hyper-V Virtual Ethernet`,
			}},
		}),
		at(proxy, Sample{
			ID: "intro-http-proxy",
			Text: `[Environment]::SetEnvironmentVariable("HTTP_PROXY", "http://proxy.example.com:80/", [EnvironmentVariableTarget]::Machine)` +
				"\n" + `[Environment]::SetEnvironmentVariable("HTTPS_PROXY", "http://proxy.example.com:443/", [EnvironmentVariableTarget]::Machine)`,
			Why: "the node's images are pulled by that proxy half a minute later, without a restart (TestFieldImageProxy)",
			Steps: []Step{
				{
					On: NodePowerShell, Run: `[Environment]::SetEnvironmentVariable("HTTP_PROXY", "http://proxy.example.com:80/", ` +
						`[EnvironmentVariableTarget]::Machine); "done"`, Want: "done",
				},
				{
					On: NodePowerShell, Run: `[Environment]::SetEnvironmentVariable("HTTPS_PROXY", "http://proxy.example.com:443/", ` +
						`[EnvironmentVariableTarget]::Machine); "done"`, Want: "done",
				},
				{On: NodeCmd, Run: "echo %HTTP_PROXY% %HTTPS_PROXY%", Want: `http://proxy\.example\.com:80/ http://proxy\.example\.com:443/`},
				{
					On: NodePowerShell, Run: `'HTTP_PROXY', 'HTTPS_PROXY' | % { [Environment]::SetEnvironmentVariable($_, $null, ` +
						`[EnvironmentVariableTarget]::Machine) }; "removed"`, Want: "removed",
				},
			},
		}),
	}
}

// introFlannel returns the commands for flannel.
func introFlannel() []Sample {
	const (
		rejoin  = "With flannel my nodes are having issues after rejoining a cluster"
		waiting = "flanneld is stuck in \"Waiting for the Network to be created\""
		subnet  = "My Windows Pods cannot launch because of missing /run/flannel/subnet.env"
	)

	return []Sample{
		at(rejoin, Sample{
			ID: "intro-remove-item", Text: "Remove-Item C:\\k\\SourceVip.json\nRemove-Item C:\\k\\SourceVipRequest.json",
			Why: "there is no such file unless somebody makes it",
			Steps: []Step{
				{On: NodeCmd, Run: `(if not exist C:\k mkdir C:\k) & echo {} > C:\k\SourceVip.json & echo {} > C:\k\SourceVipRequest.json & dir /b C:\k`, Want: `SourceVip.json.*SourceVipRequest.json`},
				{On: NodePowerShell, Run: `Remove-Item C:\k\SourceVip.json; Test-Path C:\k\SourceVip.json`, Want: "False"},
				{On: NodePowerShell, Run: `Remove-Item C:\k\SourceVipRequest.json; Test-Path C:\k\SourceVipRequest.json`, Want: "False"},
			},
		}),
		at(waiting, Sample{
			ID: "intro-node-name", Text: `[Environment]::SetEnvironmentVariable("NODE_NAME", "<Windows_Worker_Hostname>")`,
			Values: map[string]string{"<Windows_Worker_Hostname>": "win-1"},
			Steps: []Step{{
				On: NodePowerShell, Run: `[Environment]::SetEnvironmentVariable("NODE_NAME", "win-1"); cmd /c echo %NODE_NAME%`, Want: `^win-1\s*$`,
			}},
		}),
		at(waiting, Sample{
			ID: "intro-flanneld", Level: NotRun, Why: noFlannel,
			Text: `C:\flannel\flanneld.exe --kubeconfig-file=c:\k\config --iface=<Windows_Worker_Node_IP> --ip-masq=1 --kube-subnet-mgr=1`,
		}),
		at(subnet, Sample{
			ID: "intro-subnet-env", Kind: Settings, Level: NotRun, Why: noFlannel,
			Text: "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.4.1/24\nFLANNEL_MTU=1500\nFLANNEL_IPMASQ=true",
		}),
	}
}
