package rules

import (
	"fmt"
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/manifest"
)

const nodesCategory = "nodes"

// gateStage is what a feature gate is from a minor version of Kubernetes on.
type gateStage struct {
	minor  int
	stage  string // ALPHA, BETA, GA, DEPRECATED
	on     bool
	locked bool // it has to stay as it is
}

// gatesOf is the minor version of Kubernetes whose gates hack/kubeapi has listed. Gates that older versions had and
// this one lacks are not in the list.
const gatesOf = 37

// gateSetting is a place that sets a gate.
type gateSetting struct {
	name  string
	value bool
	at    check.Hit
}

// gateRules returns the rules about feature gates of the kubelet and kube-proxy.
func gateRules() []check.Rule {
	gates := featureGates()
	source := check.Source{
		Title: "Feature Gates",
		URL:   "https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/",
	}

	rule := func(r check.Rule, note func(s gateSetting, stages []gateStage, kubernetes int) string) check.Rule {
		r.Category = nodesCategory
		r.Target = check.OnObject
		r.Source = source
		r.Fields = []string{
			"KubeletConfiguration:featureGates", "KubeProxyConfiguration:featureGates", "ConfigMap:data",
			"spec.containers[*].image", "spec.containers[*].command[*]", "spec.containers[*].args[*]",
		}

		r.Func = func(p *check.Pod) []check.Hit {
			var out []check.Hit
			for _, s := range gateSettings(p) {
				if s.at.Note = note(s, gates[s.name], p.Options.Kubernetes); s.at.Note != "" {
					out = append(out, s.at)
				}
			}
			return out
		}

		return r
	}

	return []check.Rule{
		rule(check.Rule{
			ID:       "feature-gate-unknown",
			Severity: check.Error,
			Title:    "this version of Kubernetes does not know the feature gate",
			Why:      "the kubelet and kube-proxy end at their start: unrecognized feature gate",
			Remedy:   "leave the gate out; gates go some versions after their feature is there for good",
			Fix:      removeGate,
		}, unknownGate),
		rule(check.Rule{
			ID:       "feature-gate-locked",
			Severity: check.Error,
			Title:    "the feature gate cannot be set to this",
			Why:      "the kubelet and kube-proxy end at their start: the feature is there for good, and the gate is locked",
			Remedy:   "leave the gate out",
			Fix:      removeGate,
		}, func(s gateSetting, stages []gateStage, kubernetes int) string {
			if now := stageAt(stages, kubernetes); now.locked && now.on != s.value {
				return fmt.Sprintf("%s has been locked to %t since 1.%d", s.name, now.on, now.minor)
			}
			return ""
		}),
		rule(check.Rule{
			ID:       "feature-gate-ends",
			Severity: check.Info,
			Title:    "a later version of Kubernetes will not know the feature gate",
			Why:      "gates whose feature is there for good, or given up, are removed; a program that is given one it does not know ends at its start",
			Remedy:   "leave the gate out",
		}, func(s gateSetting, stages []gateStage, kubernetes int) string {
			switch now := stageAt(stages, kubernetes); {
			case now.locked && now.on != s.value:
				return ""
			case now.stage == "GA" && now.locked, now.stage == "DEPRECATED":
				return fmt.Sprintf("%s, %s since 1.%d", s.name, now.stage, now.minor)
			}
			return ""
		}),
	}
}

// unknownGate says why a gate is unknown, "" if it is not.
func unknownGate(s gateSetting, stages []gateStage, kubernetes int) string {
	switch {
	case len(stages) == 0 && kubernetes >= gatesOf:
		return fmt.Sprintf("%.60s", s.name)
	case len(stages) > 0 && stages[0].minor > kubernetes:
		return fmt.Sprintf("%s comes with 1.%d", s.name, stages[0].minor)
	}
	return ""
}

// stageAt returns the stage of a gate in a version.
func stageAt(stages []gateStage, kubernetes int) gateStage {
	var now gateStage
	for _, s := range stages {
		if s.minor <= kubernetes {
			now = s
		}
	}
	return now
}

// removeGate takes a gate out of a configuration. What is inside a text stays.
func removeGate(_ *check.Pod, h check.Hit) []check.Edit {
	if strings.HasPrefix(h.Path, "featureGates[") {
		return check.Remove(nil, h)
	}
	return nil
}

// gateSettings lists the gates that an object sets for the kubelet and kube-proxy: a configuration of theirs, a
// ConfigMap with one, as kubeadm has it, and the arguments of containers that run them.
func gateSettings(p *check.Pod) []gateSetting {
	if configures(p.Node) {
		return inConfiguration(p.Node, p.At)
	}
	if p.Object.Kind != "ConfigMap" {
		return inContainers(p.Node, p.At)
	}

	var out []gateSetting
	for _, data := range p.Values("data") {
		for _, f := range data.Node.Fields {
			if !strings.Contains(f.Value.Text(), "featureGates") {
				continue
			}

			nodes, _ := manifest.Parse(manifest.Chunk{Text: []byte(f.Value.Text()), Line: 1})
			for _, n := range nodes {
				if !configures(n) {
					continue
				}
				for _, s := range inConfiguration(n, check.Hit{}) {
					s.at.Pos, s.at.Path = f.Pos, "data["+f.Key+"]"
					out = append(out, s)
				}
			}
		}
	}

	return out
}

// configures reports whether a document is the configuration of the kubelet or of kube-proxy.
func configures(n *manifest.Node) bool {
	group, _, _ := strings.Cut(n.Get("apiVersion").Text(), "/")
	kind := n.Get("kind").Text()
	return (group == "kubelet.config.k8s.io" && kind == "KubeletConfiguration") ||
		(group == "kubeproxy.config.k8s.io" && kind == "KubeProxyConfiguration")
}

func inConfiguration(n *manifest.Node, at check.Hit) []gateSetting {
	var out []gateSetting
	gates := n.Get("featureGates")
	if gates == nil {
		return nil
	}
	for _, f := range gates.Fields {
		at.Pos, at.Path = f.Pos, "featureGates["+f.Key+"]"
		out = append(out, gateSetting{f.Key, f.Value.True(), at})
	}
	return out
}

// inContainers finds the containers in an object, wherever its kind has them.
func inContainers(n *manifest.Node, at check.Hit) []gateSetting {
	var out []gateSetting
	if n == nil {
		return nil
	}

	for _, f := range n.Fields {
		here := check.Hit{Pos: f.Pos, Path: strings.TrimPrefix(at.Path+"."+f.Key, ".")}
		switch f.Key {
		case "containers", "initContainers":
			for i, c := range f.Value.Elements() {
				out = append(out, inContainer(check.Container{
					Node: c,
					At:   check.Hit{Pos: c.Pos, Path: here.Path + "[" + strconv.Itoa(i) + "]"},
				})...)
			}
		case "spec", "template", "jobTemplate":
			out = append(out, inContainers(f.Value, here)...)
		}
	}

	return out
}

var (
	// nodeProgram finds the kubelet and kube-proxy as a program or an image, not as a part of another path.
	nodeProgram = lazyregexp.New(`(?i)(^|[\\/\s"'&;(])(kubelet|kube-proxy)(\.exe)?($|[\s"':@;,)])`)
	gatesFlag   = lazyregexp.New(`--?feature-gates[= ]["']?([A-Za-z0-9]+=\w+(?:,[A-Za-z0-9]+=\w+)*)`)
)

// inContainer lists the gates in a container's arguments, if it runs the kubelet or kube-proxy. Other programs have
// gates of their own.
func inContainer(c check.Container) []gateSetting {
	texts := append(c.Values("command[*]"), c.Values("args[*]")...)
	runs := nodeProgram.MatchString(c.Node.Get("image").Text())
	for _, v := range texts {
		text := v.Node.Text()
		runs = runs || (!strings.HasPrefix(text, "-") && nodeProgram.MatchString(text))
	}
	if !runs {
		return nil
	}

	var out []gateSetting
	for i, v := range texts {
		text := v.Node.Text()
		if i > 0 && texts[i-1].Node.Text() == "--feature-gates" {
			text = "--feature-gates=" + text
		}

		for _, m := range gatesFlag.FindAllStringSubmatch(text, -1) {
			for pair := range strings.SplitSeq(m[1], ",") {
				name, value, _ := strings.Cut(pair, "=")
				on, err := strconv.ParseBool(value)
				if err == nil {
					out = append(out, gateSetting{name, on, v.At})
				}
			}
		}
	}

	return out
}
