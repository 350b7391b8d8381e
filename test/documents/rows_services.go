package documents

// What the kubelet and kube-proxy of a bare host are told: TestFieldBareHost puts the two files there.
const (
	bareKubelet = `--config=C:\k\kubelet.yaml --kubeconfig=c:\k\config --hostname-override=bare-1 --v=2`
	bareProxy   = `--proxy-mode=kernelspace --hostname-override=bare-1 --kubeconfig=c:\k\config --enable-dsr=false --v=2`
)

// bare returns a sample of the introduction for a bare host.
func bare(heading string, s Sample) Sample {
	s.Bare = true
	return at(heading, s)
}

// says returns a command of PowerShell that prints something.
func says(run, want string) Step {
	return Step{
		On:   NodePowerShell,
		Run:  run,
		Want: want,
	}
}

// state returns a command of PowerShell after which a service is in a state.
func state(run, service, want string) Step {
	return says(run+"; (Get-Service "+service+").Status", `^\s*`+want+`\s*$`)
}

// ready waits until the bare host is a node that is Ready.
func ready() Step {
	return Step{
		On: Shell, Run: "kubectl wait node/bare-1 --for=condition=Ready --timeout=20s", Want: "condition met",
	}
}

// introServiceRows returns the commands for the kubelet as a service.
func introServiceRows() []Sample {
	return []Sample{
		bare(introServices, Sample{
			ID: "intro-sc-create", Level: Partly,
			Text: `sc.exe create kubelet binPath= "C:\kubelet.exe --service --hostname-override 'minion' <other_args>"`,
			Why: "the service is made as it stands; upstream's kubelet has no flag --service any more, so it is given " +
				"--windows-service before it is started",
			Values: map[string]string{"<other_args>": "--v=2"},
			Steps: []Step{
				says(`sc.exe create kubelet binPath= "C:\kubelet.exe --service --hostname-override 'minion' --v=2"`, "CreateService SUCCESS"),
				says("sc.exe qc kubelet", `BINARY_PATH_NAME +: C:\\kubelet\.exe --service --hostname-override 'minion' --v=2`),
				says(`sc.exe config kubelet binPath= "C:\k\kubelet.exe --windows-service `+bareKubelet+`"`, "ChangeServiceConfig SUCCESS"),
				says(`sc.exe create kube-proxy depend= kubelet binPath= "C:\k\kube-proxy.exe --windows-service `+bareProxy+`"`,
					"CreateService SUCCESS"),
				says("sc.exe failure kubelet reset= 0 actions= restart/1000", "ChangeServiceConfig2 SUCCESS"),
			},
		}),
		bare(introServices, Sample{
			ID: "intro-start-service", Text: "Start-Service kubelet\nStart-Service kube-proxy",
			Steps: []Step{
				state("Start-Service kubelet", "kubelet", "Running"), ready(),
				state("Start-Service kube-proxy", "kube-proxy", "Running"),
			},
		}),
		bare(introServices, Sample{
			ID: "intro-stop-service", Text: "Stop-Service kubelet (-Force)\nStop-Service kube-proxy (-Force)",
			Values: map[string]string{"(-Force)": "-Force"},
			Steps: []Step{
				state("Stop-Service kubelet -Force", "kubelet", "Stopped"),
				state("Stop-Service kube-proxy -Force", "kube-proxy", "Stopped"),
			},
		}),
		bare(introServices, Sample{
			ID: "intro-get-service", Text: "Get-Service kubelet\nGet-Service kube-proxy",
			Steps: []Step{
				says("Get-Service kubelet", `Stopped +kubelet`), says("Get-Service kube-proxy", `Stopped +kube-proxy`),
				says("sc.exe delete kube-proxy", "DeleteService SUCCESS"), says("sc.exe delete kubelet", "DeleteService SUCCESS"),
			},
		}),
	}
}

// introNssmRows returns the commands of nssm.exe.
func introNssmRows() []Sample {
	const flags = "of the flags that the document gives it here some are gone from upstream's program; it has today's"
	return []Sample{
		bare(introNssm, Sample{
			ID: "intro-register-svc", Level: Partly,
			Text: "register-svc.ps1 -NetworkMode <Network mode> -ManagementIP <Windows Node IP> " +
				"-ClusterCIDR <Cluster subnet> -KubeDnsServiceIP <Kube-dns Service IP> -LogDir <Directory to place logs>",
			Why: "tried with a script written anew that registers kubelet and kube-proxy by nssm with today's flags; the document's own " +
				"is fetched from another project, has flags that are gone from upstream's programs, and registers flanneld too",
			Values: map[string]string{
				"<Network mode>": "l2bridge", "<Windows Node IP>": "10.217.0.11", "<Cluster subnet>": "10.247.0.0/16",
				"<Kube-dns Service IP>": "10.98.0.10", "<Directory to place logs>": `C:\k\logs`,
			},
			Steps: []Step{
				says(`cd C:\k; .\register-svc.ps1 -NetworkMode l2bridge -ManagementIP 10.217.0.11 -ClusterCIDR 10.247.0.0/16 `+
					`-KubeDnsServiceIP 10.98.0.10 -LogDir C:\k\logs`, "kube-proxy: START:"),
				ready(), says("Get-Service kubelet", `Running +kubelet`), says("Get-Service kube-proxy", `Running +kube-proxy`),
				says(`Get-Content C:\k\logs\kubelet.log -TotalCount 200`, "bare-1"),
				says("nssm stop kube-proxy; nssm remove kube-proxy confirm", "removed successfully"),
				says("nssm stop kubelet; nssm remove kubelet confirm", "removed successfully"),
			},
		}),
		bare(introNssm, Sample{
			ID: "intro-nssm-flanneld", Text: `nssm install flanneld C:\flannel\flanneld.exe`, Level: Partly,
			Why: "the service is made and not started: flanneld.exe is another project's program, and not on this host (TestFieldFlannel runs it in a pod)",
			Steps: []Step{
				says(`nssm install flanneld C:\flannel\flanneld.exe`, "installed successfully"),
				says("nssm remove flanneld confirm", "removed successfully"),
			},
		}),
		bare(introNssm, Sample{
			ID: "intro-nssm-kubelet", Text: `nssm install kubelet C:\k\kubelet.exe`, Why: flags,
			Steps: []Step{
				says(`nssm install kubelet C:\k\kubelet.exe`, "installed successfully"),
				says(`nssm set kubelet AppParameters `+bareKubelet, "Set parameter"),
				says(`nssm set kubelet AppDirectory C:\k`, "Set parameter"),
			},
		}),
		bare(introNssm, Sample{
			ID: "intro-nssm-proxy", Text: `nssm install kube-proxy C:\k\kube-proxy.exe`, Why: flags,
			Steps: []Step{
				says(`nssm install kube-proxy C:\k\kube-proxy.exe`, "installed successfully"),
				says(`nssm set kube-proxy AppDirectory c:\k`, "Set parameter"),
				says(`nssm set kube-proxy AppParameters `+bareProxy, "Set parameter"),
				says("nssm set kube-proxy DependOnService kubelet", "Set parameter"),
			},
		}),
		bare(introNssm, Sample{
			ID: "intro-nssm-environment", Text: `nssm.exe set kube-proxy AppEnvironmentExtra KUBE_NETWORK=cbr0`,
			Steps: []Step{says(`nssm.exe set kube-proxy AppEnvironmentExtra KUBE_NETWORK=cbr0`, "Set parameter")},
		}),
		bare(introNssm, Sample{
			ID: "intro-nssm-output", Text: `nssm set <Service Name> AppStdout C:\k\mysvc.log`,
			Values: map[string]string{"<Service Name>": "kubelet"},
			Steps: []Step{
				says(`nssm set kubelet AppStdout C:\k\mysvc.log`, "Set parameter"),
				says(`nssm set kubelet AppStderr C:\k\mysvc.log`, "Set parameter"),
				says("nssm start kubelet", "kubelet: START:"), ready(), says("nssm status kubelet", "SERVICE_RUNNING"),
				says(`Get-Content C:\k\mysvc.log -TotalCount 200`, "bare-1"),
				says("nssm start kube-proxy", "kube-proxy: START:"), says("nssm status kube-proxy", "SERVICE_RUNNING"),
			},
		}),
	}
}
