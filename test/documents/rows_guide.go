package documents

func guideDocument() Document {
	return Document{
		Title:   "Kubernetes: guide for scheduling Windows containers",
		Page:    "https://kubernetes.io/docs/concepts/windows/user-guide/",
		Licence: "CC BY 4.0",
	}
}

// webPod, webAddress and webNodePort are shell words for parts of the guide's sample.
const (
	webPods     = `kubectl get pods -l app.kubernetes.io/name=win-webserver `
	webPodIP    = `$(` + webPods + `-o jsonpath='{.items[0].status.podIP}')`
	webVIP      = `$(kubectl get service win-webserver -o jsonpath='{.spec.clusterIP}')`
	webNodePort = `$(kubectl get service win-webserver -o jsonpath='{.spec.ports[0].nodePort}')`
	webHeading  = "<H1>Windows Container Web Server</H1>"
	webPod      = "deployment/win-webserver"
	iisMissing  = "the image is Microsoft's IIS, which nobody but Microsoft may give away, and Wine cannot run; "
)

// guide are the samples of the guide for scheduling Windows containers.
func guide() []Sample {
	started := "Getting started: deploying a Windows container"
	web := func(s Sample) Sample {
		s.Document, s.Heading, s.With = guideDocument(), started, "guide-webserver"
		return s
	}
	return []Sample{
		{
			ID: "guide-webserver", Document: guideDocument(), Heading: started, Kind: Manifest, Origin: Verbatim, Level: Works,
			File: "examples/kubernetes-docs/win-webserver.yaml",
			Steps: []Step{
				{On: Shell, Run: "kubectl rollout status deployment/win-webserver --timeout=2m", Want: "successfully rolled out"},
				{On: Shell, Run: webPods, Want: `1/1 +Running.*1/1 +Running`},
			},
		},
		web(Sample{
			ID: "guide-nodes", Kind: Operator, Text: "kubectl get nodes", Origin: Verbatim, Level: Works,
			Steps: []Step{{On: Shell, Run: "kubectl get nodes", Want: `win-1 +Ready`}},
		}),
		web(Sample{
			ID: "guide-pods", Kind: Operator, Text: "kubectl get pods -o wide -w", Origin: Verbatim, Level: Works,
			Steps: []Step{{On: Shell, Run: "timeout 5 kubectl get pods -o wide -w || true", Want: `win-webserver-\S+ +1/1 +Running.*win-`}},
		}),
		web(Sample{
			ID: "guide-node-to-pod", Kind: Operator, Origin: Prose, Level: Works,
			Text:  "curl port 80 of your pod IPs from the Linux master",
			Steps: []Step{{On: Shell, Run: "curl -fsS --max-time 10 http://" + webPodIP + ":80/", Want: webHeading}},
		}),
		{
			ID: "guide-runtimeclass", Document: guideDocument(), Heading: "Simplifying with RuntimeClass", Kind: Manifest,
			Origin: Restored, Level: Works,
			Steps: []Step{{On: Shell, Run: "kubectl get runtimeclass windows-2019", Want: `windows-2019 +docker`}},
		},
		{
			ID: "guide-iis-2019", Document: guideDocument(), Heading: "Simplifying with RuntimeClass", Kind: Manifest,
			Origin: Restored, Level: Not,
			With: "guide-runtimeclass",
			Why:  iisMissing + "the pod waits for it, its Service gets its address",
			Steps: []Step{
				{On: Shell, Run: "kubectl get pods -l app=iis-2019", Want: "ErrImagePull|ImagePullBackOff"},
				{On: Shell, Run: "kubectl get service iis", Want: `LoadBalancer +\S+ +\d+\.\d+\.\d+\.\d+`},
			},
		},
	}
}
