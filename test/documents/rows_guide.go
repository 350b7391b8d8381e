package documents

func guideDocument() Document {
	return Document{
		Title:   "Kubernetes: guide for scheduling Windows containers",
		Page:    "https://kubernetes.io/docs/concepts/windows/user-guide/",
		Licence: "CC BY 4.0",
	}
}

// Words of the shell for parts of the guide's sample.
const (
	webPods     = `kubectl get pods -l app.kubernetes.io/name=win-webserver `
	webPodIP    = `$(` + webPods + `-o jsonpath='{.items[0].status.podIP}')`
	webOtherIP  = `$(` + webPods + `-o jsonpath='{.items[1].status.podIP}')`
	webFirst    = `$(` + webPods + `-o jsonpath='{.items[0].metadata.name}')`
	webVIP      = `$(kubectl get service win-webserver -o jsonpath='{.spec.clusterIP}')`
	webNodePort = `$(kubectl get service win-webserver -o jsonpath='{.spec.ports[0].nodePort}')`
	nodeIP      = `$(kubectl get node win-1 -o jsonpath='{.status.addresses[0].address}')`
	webHeading  = "<H1>Windows Container Web Server</H1>"
	webPod      = "deployment/win-webserver"
	curl        = "curl -fsS --max-time 10 "
	iisInstead  = "IIS is Microsoft's own, and Wine cannot run it: Mullion's server of static files stands in for it"
	iisAddress  = "http://$(kubectl get service iis -o jsonpath='{.status.loadBalancer.ingress[0].ip}')/"
)

const (
	guideStart    = "Getting started: deploying a Windows container"
	guideClass    = "Simplifying with RuntimeClass"
	guideTaints   = "Taints and tolerations"
	guideVersions = "Handling multiple Windows versions in the same cluster"
)

// web returns a sample that is tried while the guide's web server runs.
func web(s Sample) Sample {
	s.Document = guideDocument()
	s.Heading = guideStart
	s.With = "guide-webserver"
	if s.Kind == "" {
		s.Kind = Operator
	}
	if s.Level == "" {
		s.Level = Works
	}
	return s
}

// guide returns the samples of the guide for scheduling Windows containers.
func guide() []Sample {
	all := []Sample{{
		ID: "guide-webserver", Document: guideDocument(), Heading: guideStart, Kind: Manifest, Origin: Verbatim, Level: Works,
		File: "examples/kubernetes-docs/win-webserver.yaml",
		Steps: []Step{
			{On: Shell, Run: "kubectl rollout status deployment/win-webserver --timeout=2m", Want: "successfully rolled out"},
			{On: Shell, Run: webPods, Want: `1/1 +Running.*1/1 +Running`},
		},
	}}
	all = append(all, guideChecks()...)
	return append(all, guidePlacement()...)
}

// guideChecks returns the guide's list of what to verify.
func guideChecks() []Sample {
	return []Sample{
		web(Sample{
			ID: "guide-nodes", Text: "kubectl get nodes", Origin: Verbatim,
			Steps: []Step{{On: Shell, Run: "kubectl get nodes", Want: `win-1 +Ready`}},
		}),
		web(Sample{
			ID: "guide-pods", Text: "kubectl get pods -o wide -w", Origin: Verbatim,
			Steps: []Step{{
				On: Shell, Run: "timeout 5 kubectl get pods -o wide -w || true", Want: `win-webserver-\S+ +1/1 +Running.*win-`,
			}},
		}),
		web(Sample{
			ID: "guide-docker-ps", Kind: OnNode, Origin: Prose, Level: Not,
			Text:  "Two containers per pod on the Windows node, use docker ps",
			Why:   "a node has no Docker: `crictl.exe pods` and `crictl.exe ps` list the two, the first with a program of its own if the node has `pauseImage`. With Kubernetes 1.20 and Docker as the runtime it works (TestFieldDockershim)",
			Steps: []Step{{On: NodeCmd, Run: "docker ps", Want: "Can't recognize 'docker ps'|not recognized", Fails: true}},
		}),
		web(Sample{
			ID: "guide-node-to-pod", Origin: Prose, Text: "Node-to-pod: curl port 80 of your pod IPs from the Linux master",
			Steps: []Step{{On: Shell, Run: curl + "http://" + webPodIP + ":80/", Want: webHeading}},
		}),
		web(Sample{
			ID: "guide-pod-to-pod", Kind: InPod, Origin: Prose, Text: "Pod-to-pod: ping between pods using kubectl exec",
			Steps: []Step{{On: Shell, Run: "kubectl exec " + webFirst + " -- ping -n 2 " + webOtherIP, Want: `Reply from .*\(0% loss\)`}},
		}),
		web(Sample{
			ID: "guide-service-to-pod", Origin: Prose, Level: Works,
			Text: "Service-to-pod: curl the virtual service IP from the Linux master and from individual pods",
			Why:  "the machine itself is no node, so a Linux node stands for the master",
			Steps: []Step{
				{On: Shell, Run: "mullion node exec linux-1 -- " + curl + "http://" + webVIP + "/", Want: webHeading},
				{On: Shell, Run: "kubectl exec " + webFirst + " -- " + curl + "http://" + webVIP + "/", Want: webHeading},
			},
		}),
		web(Sample{
			ID: "guide-discovery", Kind: InPod, Origin: Prose,
			Text:  "Service discovery: curl the service name with the Kubernetes default DNS suffix",
			Steps: []Step{{On: Shell, Run: "kubectl exec " + webPod + " -- " + curl + "http://win-webserver.default.svc.cluster.local/", Want: webHeading}},
		}),
		web(Sample{
			ID: "guide-inbound", Origin: Prose, Text: "Inbound: curl the NodePort from the Linux master or machines outside of the cluster",
			Steps: []Step{{On: Shell, Run: curl + "http://" + nodeIP + ":" + webNodePort + "/", Want: webHeading}},
		}),
		web(Sample{
			ID: "guide-outbound", Kind: InPod, Origin: Prose, Text: "Outbound: curl external IPs from inside the pod using kubectl exec",
			Why: "tried with the address of the API server, which is outside of the pods' network",
			Steps: []Step{{
				On:   Shell,
				Run:  "kubectl exec " + webPod + " -- curl -ksS --max-time 10 https://$(kubectl get endpoints kubernetes -o jsonpath='{.subsets[0].addresses[0].ip}:{.subsets[0].ports[0].port}')/version",
				Want: `gitVersion|"kind": "Status"`,
			}},
		}),
	}
}

// guidePlacement returns the samples of the guide's later parts, which say where pods land.
func guidePlacement() []Sample {
	here := func(heading string, s Sample) Sample {
		s.Document, s.Heading = guideDocument(), heading
		if s.Level == "" {
			s.Level = Works
		}
		return s
	}

	return []Sample{
		here(guideTaints, Sample{
			ID: "guide-taint", Kind: Settings, Text: "--register-with-taints='os=windows:NoSchedule'", Origin: Verbatim,
			Why: "`taint: true` of a node in cluster.yaml",
			Steps: []Step{{
				On: Shell, Run: "kubectl get node win-2 -o jsonpath='{.spec.taints[0].key}={.spec.taints[0].value}:{.spec.taints[0].effect}'",
				Want: "^os=windows:NoSchedule$",
			}},
		}),
		here(guideTaints, Sample{
			ID: "guide-toleration", Kind: Manifest, Origin: Completed,
			Steps: []Step{{
				On: Shell, Run: "kubectl get pods -l app=tolerates -o wide --sort-by=.spec.nodeName", Want: `1/1 +Running.*win-1.*1/1 +Running.*win-2`,
			}},
		}),
		here(guideVersions, Sample{
			ID: "guide-build-label", Kind: Operator, Origin: Prose, Text: "the label node.kubernetes.io/windows-build of Windows nodes",
			Steps: []Step{{
				On: Shell, Run: "kubectl get nodes -L node.kubernetes.io/windows-build", Want: `win-1 .*10\.0\.17763.*win-3 .*10\.0\.16299`,
			}},
		}),
		here(guideClass, Sample{
			ID: "guide-runtimeclass", Kind: Manifest, Origin: Restored,
			Why:   "a node takes the handler docker as runhcs-wcow-process",
			Steps: []Step{{On: Shell, Run: "kubectl get runtimeclass windows-2019", Want: `windows-2019 +docker`}},
		}),
		here(guideClass, Sample{
			ID: "guide-classpod", Kind: Manifest, Origin: Completed, With: "guide-runtimeclass",
			Steps: []Step{
				{On: Shell, Run: "kubectl get pod class-pod -o wide", Want: `1/1 +Running.*win-[12]`},
				{On: PodCmd, Pod: "class-pod", Run: "ver", Want: `10\.0\.17763`},
			},
		}),
		here(guideClass, Sample{
			ID: "guide-iis-2019", Kind: Manifest, Origin: Restored, Level: Partly, With: "guide-runtimeclass",
			Why: iisInstead,
			Steps: []Step{
				{On: Shell, Run: "kubectl rollout status deployment/iis-2019 --timeout=2m", Want: "successfully rolled out"},
				{On: Shell, Run: "kubectl get service iis", Want: `LoadBalancer +\S+ +\d+\.\d+\.\d+\.\d+`},
				{On: Shell, Run: curl + iisAddress, Want: "stands in for IIS"},
				{On: PodCmd, Pod: "deployment/iis-2019", Run: `echo own page> C:\inetpub\wwwroot\Default.htm && echo written`, Want: "written"},
				{On: Shell, Run: curl + iisAddress, Want: "own page"},
				{On: PodCmd, Pod: "deployment/iis-2019", Run: `findstr GET C:\inetpub\logs\LogFiles\W3SVC1\*.log`, Want: `GET / - 80 .* 200 0 0`},
				{On: PodCmd, Pod: "deployment/iis-2019", Run: `sc query w3svc`, Want: `SERVICE_NAME: w3svc.*RUNNING`},
			},
		}),
		here("Capturing logs from workloads", Sample{
			ID: "guide-logmonitor", Kind: Manifest, Origin: Anew,
			Why:   "LogMonitor.exe is Mullion's own and lies in every container; sources of type ETW are read, and tried by its own tests alone",
			Steps: []Step{{On: Shell, Run: "kubectl logs log-monitor", Want: `from-a-file`}},
		}),
	}
}
