// Package collect asks a Windows node for what people look at when its network or its pods do not do as they should:
// the files that SIG Windows' collectlogs.ps1 makes, under its names, and a few more.
package collect

import (
	"path"

	"mullion.dev/mullion/internal/diagnose/nodescript"
)

// linesOfLog is how many lines of the end of a log are kept.
const linesOfLog = "2000"

// eventsOfLog is how many of the newest events of an event log are kept.
const eventsOfLog = "300"

// asked returns the files and the commands that print them. Of collectlogs.ps1
// (https://github.com/microsoft/SDN/blob/master/Kubernetes/windows/debug/collectlogs.ps1) are network.txt to vfp.txt.
func asked() []nodescript.Section {
	own := nodescript.Own
	events := func(log string) string {
		return own("wevtutil.exe qe " + log + " /c:" + eventsOfLog + " /rd:true /f:text")
	}
	return []nodescript.Section{
		{Name: "network.txt", Command: own("Get-HnsNetwork | ConvertTo-Json -Depth 20")},
		{Name: "endpoint.txt", Command: own("Get-HnsEndpoint | ConvertTo-Json -Depth 20")},
		{Name: "policy.txt", Command: own("Get-HnsPolicyList | ConvertTo-Json -Depth 20")},
		{Name: "ip.txt", Command: own("ipconfig.exe /allcompartments /all")},
		{Name: "routes.txt", Command: own("route.exe print")},
		{Name: "ports.txt", Command: own("vfpctrl.exe /list-vmswitch-port")},
		{Name: "hostname.txt", Command: own("hostname.exe")},
		{Name: "netstat.txt", Command: own("netstat.exe -ano")},
		{Name: "services.txt", Command: own("sc.exe query state= all")},
		{Name: "processes.txt", Command: own("tasklist.exe")},
		{Name: "pods.txt", Command: own("crictl.exe pods")},
		{Name: "containers.txt", Command: own("crictl.exe ps -a")},
		{Name: "images.txt", Command: own("crictl.exe images")},
		{Name: "events-system.txt", Command: events("System")},
		{Name: "events-application.txt", Command: events("Application")},
		{Name: "events-hns.txt", Command: events("Microsoft-Windows-Host-Network-Service-Admin")},
		log("kubelet.log", `C:\k\kubelet.log`),
		log("kubelet.err.log", `C:\k\kubelet.err.log`),
		log("kubelet.exe.INFO", `C:\var\log\kubelet\kubelet.exe.INFO`),
		log("kube-proxy.log", `C:\k\kubeproxy.log`),
		log("kube-proxy.exe.INFO", `C:\var\log\kubeproxy\kube-proxy.exe.INFO`),
		log("containerd.log", `C:\Program Files\containerd\containerd.log`),
		log("flanneld.log", `C:\k\flanneld.log`),
	}
}

// log returns the section of the end of a log that the node may have.
func log(name, file string) nodescript.Section {
	return nodescript.Section{
		Name:    path.Join("logs", name),
		Command: "if (Test-Path '" + file + "') { Get-Content '" + file + "' -Tail " + linesOfLog + " }",
	}
}

// Command returns the program with its arguments that asks a node. All that it runs only reads.
func Command() []string { return nodescript.Command(asked()) }

// Files returns what Command printed, by the names of files with slashes. A file of which the node had nothing is left
// out, and so is one that was not asked for. whole says that the command ran to its end.
func Files(text string) (files map[string][]byte, whole bool) {
	names := map[string]bool{}
	for _, s := range asked() {
		names[s.Name] = true
	}
	answers, whole := nodescript.Split(text)
	files = map[string][]byte{}
	for _, a := range answers {
		if names[a.Name] && a.Text != "" {
			files[a.Name] = []byte(a.Text + "\n")
		}
	}
	return files, whole
}
