package rules

import "mullion.dev/mullion/internal/check"

const placementCategory = "placement"

func placement() []check.Rule {
	user := check.Source{
		Title: "Guide for Running Windows Containers in Kubernetes",
		URL:   "https://kubernetes.io/docs/concepts/windows/user-guide/#ensuring-os-specific-workloads-land-on-the-appropriate-container-host",
	}
	return []check.Rule{
		{
			ID: "os-undecided", Severity: check.Warning, Category: placementCategory, Target: check.OnPod, Source: user,
			Title:  "in a mixed cluster this pod may land on Linux or on Windows",
			Why:    "neither os.name, a node selector nor node affinity says which nodes can run it, and the scheduler does not look at images",
			Remedy: "set spec.os.name and spec.nodeSelector[kubernetes.io/os]",
			Func: func(p *check.Pod) []check.Hit {
				if p.OS == check.Either {
					return []check.Hit{p.At}
				}
				return nil
			},
		},
		{
			ID: "os-name-without-selector", Severity: check.Warning, Category: placementCategory, Target: check.OnPod, Source: user, Since: 23,
			Title:  "os.name does not place the pod",
			Why:    "the scheduler does not look at spec.os.name: without a node selector the pod can be bound to a Linux node, whose kubelet refuses it",
			Remedy: "add spec.nodeSelector: {kubernetes.io/os: windows}",
			When:   []check.Match{{Path: "spec.os.name", Op: check.In, Values: []string{"windows"}}, {Path: "spec.affinity.nodeAffinity", Op: check.Absent}},
			Match:  []check.Match{{Path: "spec.nodeSelector", Op: check.Absent}},
		},
		{
			ID: "beta-os-label", Severity: check.Info, Category: placementCategory, Target: check.OnPod,
			Title: "the label beta.kubernetes.io/os is deprecated", Why: "it has been deprecated since 1.14 and may go; kubernetes.io/os says the same",
			Remedy: "select by kubernetes.io/os",
			Source: check.Source{Title: "Well-known labels", URL: "https://kubernetes.io/docs/reference/labels-annotations-taints/#beta-kubernetes-io-os-deprecated"},
			Func: func(p *check.Pod) []check.Hit {
				if f := p.Spec().Get("nodeSelector").Field("beta.kubernetes.io/os"); f != nil {
					return []check.Hit{{Pos: f.Pos, Path: p.At.Path + ".spec.nodeSelector"}}
				}
				return nil
			},
		},
	}
}
