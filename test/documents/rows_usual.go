package documents

// usual returns the commands that guides for finding faults have people type in a Windows pod and on a node.
func usual() []Sample {
	page := Document{
		Title:   "Microsoft: troubleshooting Kubernetes, and the commands that such guides use",
		Page:    "https://learn.microsoft.com/virtualization/windowscontainers/kubernetes/common-problems",
		Licence: "commands alone",
	}

	in := func(on Place, id, text, want string) Sample {
		s := Sample{
			ID: "usual-" + id, Document: page, Heading: "network", Kind: InPod, Text: text, Origin: Verbatim, Level: Works, With: "guide-webserver",
			Steps: []Step{{On: on, Pod: webPod, Run: text, Want: want}},
		}
		if on == NodeCmd || on == NodePowerShell {
			s.Kind, s.Steps[0].Pod = OnNode, ""
		}
		return s
	}

	all := []Sample{
		in(PodCmd, "ipconfig", "ipconfig", `IPv4 Address[. ]+: 10\.244\.`),
		in(PodCmd, "ipconfig-all", "ipconfig /all", `DNS Suffix Search List[. ]+: default\.svc\.cluster\.local`),
		in(PodCmd, "nslookup", "nslookup kubernetes.default.svc.cluster.local", `Name: +kubernetes\.default\.svc\.cluster\.local.*Address: +10\.96\.0\.1`),
		in(PodCmd, "netstat", "netstat -ano", `TCP +(0\.0\.0\.0|\[::\]):80 .* LISTENING +\d+`),
		in(PodCmd, "route", "route print", `0\.0\.0\.0 +0\.0\.0\.0 +10\.244\.\d+\.\d+ +10\.244\.`),
		in(PodCmd, "netsh", "netsh interface ipv4 show config", `IP Address: +10\.244\.`),
		in(PodPowerShell, "net-ip-address", "Get-NetIPAddress", `IPAddress +: 10\.244\.`),
		in(PodPowerShell, "net-adapter", "Get-NetAdapter", `Up +[0-9A-F]{2}-`),
		in(PodPowerShell, "net-route", "Get-NetRoute", `0\.0\.0\.0/0`),
		in(PodPowerShell, "resolve", "Resolve-DnsName win-webserver.default.svc.cluster.local", `win-webserver\.default\.svc\.cluster\.local.*IPAddress +: 10\.`),
		in(PodPowerShell, "invoke", "Invoke-WebRequest -UseBasicParsing http://win-webserver", `StatusCode +: 200`),
		in(PodCmd, "tasklist", "tasklist", `powershell\.exe`),
		in(PodCmd, "systeminfo", "systeminfo", `OS Version: +10\.0\.17763`),
		in(PodCmd, "hostname", "hostname", `win-webserver-`),
		in(PodCmd, "whoami", "whoami", `(?i)containeradministrator`),
		in(PodCmd, "icacls", `icacls C:\`, `BUILTIN\\Administrators:\(OI\)\(CI\)\(F\)`),
		in(PodCmd, "set", "set", `KUBERNETES_SERVICE_HOST=10\.96\.0\.1`),
		in(PodPowerShell, "processes", "Get-Process", `powershell`),
		in(NodeCmd, "node-ipconfig", "ipconfig", `IPv4 Address[. ]+: 10\.213\.`),
		in(NodeCmd, "node-netstat", "netstat -ano", `TCP +(\[::\]|0\.0\.0\.0):10250 .* LISTENING +\d+`),
		in(NodeCmd, "node-route", "route print -4", `10\.244\.`),
		in(NodePowerShell, "endpoints", "Get-HnsEndpoint", `IPAddress +: 10\.244\.`),
		in(NodePowerShell, "policies", "Get-HnsPolicyList", `ELB|VIPs|Policies`),
		in(NodePowerShell, "node-processes", "Get-Process kubelet, kube-proxy", `kube-proxy.*kubelet|kubelet.*kube-proxy`),
	}

	return append(all, Sample{
		ID: "usual-remove-network", Document: page, Heading: "network", Kind: OnNode, Origin: Verbatim, Level: NotRun,
		Text: `Get-HnsNetwork | ? Name -ieq "cbr0" | Remove-HnsNetwork`,
		Why:  "it takes the network from the node's pods; its first two parts are tried above, Remove-HnsNetwork with other networks by the tests of the cmdlets",
	})
}
