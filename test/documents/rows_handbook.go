package documents

func handbookDocument() Document {
	return Document{
		Title:   "Kubernetes handbook: Windows",
		Page:    "https://github.com/feiskyer/kubernetes-handbook",
		Licence: "CC BY-NC-SA 4.0",
	}
}

// book returns a sample of the handbook. Its licence does not allow a copy of its manifests here, so they are written
// anew.
func book(heading string, s Sample) Sample {
	s.Document, s.Heading = handbookDocument(), heading
	if s.Kind == "" {
		s.Kind, s.Origin = Manifest, Anew
	}
	if s.Origin == "" {
		s.Origin = Verbatim
	}
	if s.Level == "" {
		s.Level = Works
	}
	return s
}

// handbook returns the samples of the Kubernetes handbook's chapter on Windows, which is about Windows Server 1709.
func handbook() []Sample {
	const (
		running = "Running Windows containers"
		volumes = "Volume support"
	)
	return append([]Sample{
		book(running, Sample{
			ID: "handbook-iis", Level: Not, Node: "1709", Refused: `no matches for kind "Deployment" in version "extensions/v1beta1"`,
			Why: "Kubernetes has no extensions/v1beta1 since 1.16; `mullion check` says so and what to write",
		}),
		book(running, Sample{
			ID: "handbook-daemonset", Level: Not, Node: "1709", Refused: `no matches for kind "DaemonSet" in version "extensions/v1beta1"`,
			Why: "as the Deployment; my-DaemonSet is no name that Kubernetes takes either",
		}),
		book(volumes, Sample{
			ID: "handbook-hostpath", Node: "1709",
			Steps: []Step{
				{On: Shell, Run: "kubectl get pod hostpath-pod -o wide", Want: `1/1 +Running.*win-3`},
				{On: PodCmd, Pod: "hostpath-pod", Run: `cd /d C:\etc\foo && echo in %CD%`, Want: `in C:\\etc\\foo`},
				{On: PodCmd, Pod: "hostpath-pod", Run: `echo x > C:\etc\foo\x`, Want: "Access is denied"},
			},
		}),
		book(volumes, Sample{
			ID: "handbook-emptydir", Node: "1709",
			Steps: []Step{
				{On: Shell, Run: "kubectl get pod empty-dir-pod -o wide", Want: `1/1 +Running.*win-3`},
				{On: PodCmd, Pod: "empty-dir-pod", Run: `echo x > C:\scratch\x && echo y > C:\cache\y && dir /b C:\scratch C:\cache`, Want: `x.*y`},
			},
		}),
		book("Setting CPU and memory", Sample{
			ID: "handbook-resources", Level: Not, Node: "1709", Refused: `selector`,
			Why: "a Deployment of apps/v1 needs a selector, which the document's has not",
		}),
		book("Hyper-V containers", Sample{
			ID: "handbook-hyperv", Level: Not, Node: "1709", Refused: `selector`,
			Why: "as above; a pod with the annotation gets a virtual machine",
		}),
	}, handbookCommands()...)
}

// handbookCommands returns the commands of the handbook for setting a node up.
func handbookCommands() []Sample {
	const deploy = "Manual deployment"
	fetch := "it fetches from addresses that a machine may not reach; `mullion up` lays a node's programs there"
	var all []Sample
	for _, s := range []struct{ id, heading, text, why string }{
		{
			"download", "Downloads", "wget https://dl.k8s.io/v1.15.0/kubernetes-node-windows-amd64.tar.gz",
			"`make bundle` builds, or `mullion up --bundle` takes, what release archives hold",
		},
		{"build", "Downloads", "KUBE_BUILD_PLATFORMS=windows/amd64 make WHAT=cmd/kubelet", "`make kubernetes` builds the same program from the same source"},
		{
			"kubeadm", "kubeadm", "kubeadm.exe join --token <token> <master-ip>:<master-port> --discovery-token-ca-cert-hash sha256:<hash>",
			"TestFieldKubeadm runs it on a bare host, as kubeadm prints it; `mullion join` takes the same token and hash (TestFieldForeignCluster)",
		},
		{"acs-engine", "Azure", "acs-engine deploy --resource-group myResourceGroup …", "a program of Azure's; `mullion up -f windows.json` reads the model that it is given"},
		{
			"install-docker", deploy, "Install-Module -Name DockerMsftProvider -Repository PSGallery -Force",
			"there is no Docker on a node, and PowerShell here fetches no modules",
		},
		{"sdn", deploy, "wget https://github.com/Microsoft/SDN/archive/master.zip -o master.zip", fetch},
		{
			"docker-pull", deploy, "docker pull microsoft/windowsservercore:1709",
			"a node has Docker only if it is installed; `mullion image pull` does the same for the cluster's store",
		},
		{"pause", deploy, "docker build -t kubeletwin/pause .", "TestFieldDockershim does it; with Mullion's runtime pods need no pause image, and `pauseImage` of a node gives them one"},
		{"start-kubelet", deploy, "./start-kubelet.ps1 -ClusterCidr 192.168.0.0/16", "`mullion up` starts the kubelet"},
		{"start-kubeproxy", deploy, "./start-kubeproxy.ps1", "`mullion up` starts kube-proxy"},
	} {
		all = append(all, book(s.heading, Sample{
			ID:    "handbook-" + s.id,
			Kind:  OnNode,
			Text:  s.text,
			Level: NotRun,
			Why:   s.why,
		}))
	}

	all = append(all, book("L3 routing topology", Sample{
		ID: "handbook-wincni", Kind: Settings, Origin: Prose, Level: NotRun, Text: "the configuration of wincni.exe",
		Why: "wincni.exe is Microsoft's and not to be had; upstream's win-bridge.exe takes the same policies",
	}))
	return all
}
