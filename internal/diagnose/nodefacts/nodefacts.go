// Package nodefacts asks a Windows node about itself, for the probes: it owns the commands that are run on the node and
// reads what they print.
package nodefacts

import (
	"encoding/json"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/diagnose"
	"mullion.dev/mullion/internal/diagnose/nodescript"
)

// files are looked at: what start.ps1 of https://github.com/microsoft/SDN, flannel and containerd keep on a node.
func files() []string {
	return []string{
		`C:\k\SourceVip.json`,
		`C:\k\cni\config\cni.conf`,
		`C:\run\flannel\subnet.env`,
		`C:\sourcevip\sourceVip.json`,
		`C:\etc\cni\net.d\10-flannel.conf`,
		`C:\Program Files\containerd\cni\conf\10-flannel.conf`,
		`C:\Program Files\containerd\cni\conf\0-containerd-nat.conf`,
	}
}

// services are asked for by name.
func services() []string { return []string{"kubelet", "kube-proxy", "containerd", "flanneld"} }

// variables is where Windows keeps the machine's variables.
const variables = `HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment`

// Command returns the program with its arguments that asks a node. All that it runs only reads.
func Command() []string {
	sections := []nodescript.Section{
		{Name: "hostname", Command: "hostname.exe"},
		{Name: "pods first", Command: podFolders},
	}
	for _, s := range services() {
		sections = append(sections, nodescript.Section{Name: "service " + s, Command: "sc.exe query " + s})
	}

	sections = append(sections,
		nodescript.Section{Name: "variables", Command: "reg.exe query '" + variables + "'"},
		nodescript.Section{Name: "networks", Command: nodescript.Own("Get-HnsNetwork | ConvertTo-Json -Depth 5")},
		nodescript.Section{Name: "processes", Command: nodescript.Own(
			"Get-CimInstance Win32_Process | Where-Object Name -like kube* | ForEach-Object CommandLine")},
	)

	for _, f := range files() {
		sections = append(sections, nodescript.Section{
			Name:    "file " + f,
			Command: "if (Test-Path '" + f + "') { Get-Content '" + f + "' }",
		})
	}

	sections = append(sections, nodescript.Section{Name: "pods last", Command: podFolders})
	return nodescript.Command(sections)
}

// podFolders lists the kubelet's folders of pods. It is asked at the begin and at the end: a folder that goes with its
// pod at this moment is not there both times.
const podFolders = `if (Test-Path 'C:\var\lib\kubelet\pods') { (Get-ChildItem 'C:\var\lib\kubelet\pods').Name }`

// state is a service's state in sc.exe's words: "        STATE              : 4  RUNNING".
var state = lazyregexp.New(`(?m)^\s*STATE\s*:\s*\d+\s+(\w+)`)

// variable is a line of reg.exe: "    KUBE_NETWORK    REG_SZ    cbr0".
var variable = lazyregexp.New(`(?m)^\s+(\S+)\s+REG_(?:EXPAND_)?SZ\s+(.*?)\s*$`)

// Parse reads what Command printed. whole says that it ran to its end.
func Parse(text string) (facts diagnose.NodeFacts, whole bool) {
	facts = diagnose.NodeFacts{
		Services:  map[string]string{},
		Files:     map[string]string{},
		Variables: map[string]string{},
	}

	answers, whole := nodescript.Split(text)
	var first []string
	for _, a := range answers {
		kind, rest, _ := strings.Cut(a.Name, " ")
		body := a.Text
		switch kind {
		case "hostname":
			facts.Hostname, _, _ = strings.Cut(body, "\n")
		case "service":
			if m := state.FindStringSubmatch(body); m != nil {
				facts.Services[rest] = m[1]
			}

		case "pods":
			first, facts.PodFolders = podsOf(rest, body, first)
		case "variables":
			for _, m := range variable.FindAllStringSubmatch(body, -1) {
				facts.Variables[strings.ToUpper(m[1])] = m[2]
			}
		case "networks":
			facts.Networks = networks(body)
			facts.NetworksKnown = facts.Networks != nil || body == ""

		case "processes":
			for line := range strings.Lines(body) {
				if line = strings.TrimSpace(line); line != "" {
					facts.Processes = append(facts.Processes, line)
				}
			}

		case "file":
			if body != "" {
				facts.Files[rest] = body
			}
		}
	}

	return facts, whole
}

// podsOf reads the folders of pods: those that were there at the begin, and of these the ones that are at the end.
func podsOf(when, body string, first []string) (atBegin, always []string) {
	if when == "first" {
		return strings.Fields(body), nil
	}
	for folder := range strings.FieldsSeq(body) {
		if slices.Contains(first, folder) {
			always = append(always, folder)
		}
	}
	return first, always
}

// networks reads Get-HnsNetwork's JSON, which is one object, or a list of them.
func networks(text string) []diagnose.HNSNetwork {
	type network struct {
		Name    string
		Type    string
		Subnets []struct{ AddressPrefix string }
	}

	var all []network
	if json.Unmarshal([]byte(text), &all) != nil {
		var one network
		if json.Unmarshal([]byte(text), &one) != nil {
			return nil
		}
		all = []network{one}
	}

	out := []diagnose.HNSNetwork{}
	for _, n := range all {
		h := diagnose.HNSNetwork{Name: n.Name, Type: n.Type}
		for _, s := range n.Subnets {
			h.Subnets = append(h.Subnets, s.AddressPrefix)
		}
		out = append(out, h)
	}

	return out
}
