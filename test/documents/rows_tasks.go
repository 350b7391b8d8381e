package documents

// task returns a page of Kubernetes' tasks, to which the guide leads.
func task(title, page string) Document {
	return Document{
		Title:   "Kubernetes: " + title,
		Page:    "https://kubernetes.io/docs/" + page,
		Licence: "CC BY 4.0",
	}
}

// tasks returns the samples of pages to which the guide leads. No copy of them was at hand, so they are written anew.
func tasks() []Sample {
	var all []Sample
	for _, samples := range [][]Sample{userNames(), gmsa(), hostProcess(), more()} {
		all = append(all, samples...)
	}
	return all
}

func userNames() []Sample {
	page := task("configure RunAsUserName for Windows pods and containers", "tasks/configure-pod-container/configure-runasusername/")
	user := func(id, heading, pod, name string) []Sample {
		return []Sample{
			{
				ID: id, Document: page, Heading: heading, Kind: Manifest, Origin: Anew, Level: Works,
				Steps: []Step{{On: Shell, Run: "kubectl get pod " + pod, Want: `1/1 +Running`}},
			},
			{
				ID: id + "-echo", Document: page, Heading: heading, Kind: InPod, Text: "echo $env:USERNAME", Origin: Verbatim,
				Level: Works, With: id,
				Steps: []Step{{On: PodPowerShell, Pod: pod, Run: "echo $env:USERNAME", Want: `^` + name + `\s*$`}},
			},
		}
	}

	return append(
		user("tasks-username-pod", "Set the Username for a Pod", "run-as-username-pod", "ContainerUser"),
		user("tasks-username-container", "Set the Username for a Container", "run-as-username-container", "ContainerAdministrator")...)
}

func gmsa() []Sample {
	page := task("configure GMSA for Windows Pods and containers", "tasks/configure-pod-container/configure-gmsa/")
	return []Sample{
		{
			ID: "tasks-gmsa-spec", Document: page, Heading: "Create GMSA credential spec resources", Kind: Manifest, Origin: Anew, Level: Works,
			Steps: []Step{{On: Shell, Run: "kubectl get gmsacredentialspecs gmsa-shop", Want: `gmsa-shop`}},
		},
		{
			ID: "tasks-gmsa-pod", Document: page, Heading: "Configure GMSA credential spec reference in Pod spec", Kind: Manifest, Origin: Anew,
			Level: Partly,
			Why: "with the credential spec, and the right to use it: the pod has the domain's names, but no ticket, since the cluster of " +
				"the samples has no domain (`domains` in cluster.yaml; TestFieldGMSA has one, and reads a share)",
			Steps: []Step{
				{On: Shell, Run: "kubectl get pods -l run=with-creds", Want: `1/1 +Running`},
				{On: Shell, Run: "kubectl get pods -l run=with-creds -o yaml", Want: `"NetBiosName":"EXAMPLE"`},
			},
		},
		{
			ID: "tasks-gmsa-parentdomain", Document: page, Heading: "Troubleshooting", Kind: InPod, Text: "nltest.exe /parentdomain", Origin: Verbatim,
			Level: Works, With: "tasks-gmsa-pod",
			Steps: []Step{{On: PodPowerShell, Pod: "deployment/with-creds", Run: "nltest.exe /parentdomain", Want: `example\.org\. \(1\)`}},
		},
	}
}

func hostProcess() []Sample {
	page := task("create a Windows HostProcess Pod", "tasks/configure-pod-container/create-hostprocess-pod/")
	return []Sample{
		{
			ID: "tasks-hostprocess", Document: page, Heading: "Example manifest", Kind: Manifest, Origin: Anew, Level: Works,
			Steps: []Step{
				{On: Shell, Run: "kubectl get pod host-process -o wide", Want: `1/1 +Running.*win-`},
				{On: Shell, Run: "kubectl logs host-process", Want: `Reply from 127\.0\.0\.1`},
			},
		},
		{
			ID: "tasks-hostprocess-token", Document: page, Heading: "Volume mounts", Kind: InPod, Origin: Verbatim, Level: Works,
			With: "tasks-hostprocess", Text: `.\var\run\secrets\kubernetes.io\serviceaccount\`,
			Steps: []Step{{
				On: PodCmd, Pod: "host-process", Run: `cd /d %CONTAINER_SANDBOX_MOUNT_POINT% & dir /b .\var\run\secrets\kubernetes.io\serviceaccount\`,
				Want: `ca\.crt.*token`,
			}},
		},
	}
}

// more are samples of other pages: host aliases, and those beside the pages for Windows.
func more() []Sample {
	aliases := task("adding entries to Pod /etc/hosts with HostAliases", "tasks/network/customize-hosts-file-for-pods/")
	examples := task("examples for Windows", "concepts/windows/")
	return []Sample{
		{
			ID: "tasks-hostaliases", Document: aliases, Heading: "Adding additional entries with hostAliases", Kind: Manifest, Origin: Anew,
			Level: Works,
			Steps: []Step{{On: Shell, Run: "kubectl exec hostaliases-pod -- ping -n 1 foo.local", Want: `Reply from 127\.0\.0\.1`}},
		},
		{
			ID: "tasks-liveness", Document: examples, Heading: "liveness by ping", Kind: Manifest, Origin: Anew, Level: Works,
			Steps: []Step{{
				On: Shell, Run: "kubectl get pod liveness-ping -o jsonpath='{.status.containerStatuses[0].ready} {.status.containerStatuses[0].restartCount}'",
				Want: `^true 0$`,
			}},
		},
		{
			ID: "tasks-resources", Document: examples, Heading: "limits of CPU and memory", Kind: Manifest, Origin: Anew, Level: Works,
			Steps: []Step{
				{On: Shell, Run: "kubectl rollout status deployment/limited --timeout=60s", Want: "successfully rolled out"},
				{On: Shell, Run: "kubectl get pods -l app=limited -o jsonpath='{.items[0].status.containerStatuses[0].resources.limits}'", Want: `"memory":"128Mi"|^$`},
			},
		},
		{
			ID: "tasks-configmap", Document: examples, Heading: "a ConfigMap and a Secret as variables and files", Kind: Manifest, Origin: Anew,
			Level: Works,
			Steps: []Step{{
				On: PodCmd, Pod: "settings", Run: `echo %SPECIAL_LEVEL% & type C:\secret\password`, Want: `very.*t0p-Secret`,
			}},
		},
	}
}
