package rules

import (
	"fmt"
	"slices"

	"mullion.dev/mullion/internal/check"
)

const servicesCategory = "services"

// The largest numbers of backends of a Service: backendsWithoutDSR applies without direct server return on builds that
// have no updates, backends always. https://github.com/kubernetes/kubernetes/issues/98680,
// https://github.com/microsoft/Windows-Containers/issues/93
const (
	backendsWithoutDSR = 64
	backends           = 1024
)

// The first builds with dual stack and with session affinity: winver.DualStack, winver.SessionAffinity.
const (
	dualStackBuild       = 19041
	sessionAffinityBuild = 20348
)

// onServices turns a condition on a Service that selects pods which may run on Windows into a Cross.
func onServices(find func(s *check.Fact, pods []check.Selected) []check.Hit) func(*check.Input) []check.CrossHit {
	return func(in *check.Input) []check.CrossHit {
		var out []check.CrossHit
		for _, s := range in.Objects["Service"] {
			var pods []check.Selected
			for _, p := range in.Selected(s) {
				if p.OS != check.Linux {
					pods = append(pods, p)
				}
			}
			if len(pods) == 0 {
				continue
			}

			for _, h := range find(s, pods) {
				out = append(out, check.CrossHit{Fact: s, Hit: h})
			}
		}

		return out
	}
}

// at returns the places of a Service's field if its text is one of texts.
func at(s *check.Fact, path string, texts ...string) []check.Hit {
	return hits(s.Values(path), func(text string) string {
		if slices.Contains(texts, text) {
			return text
		}
		return ""
	})
}

func services() []check.Rule {
	rule := func(r check.Rule) check.Rule {
		r.Category, r.Target = servicesCategory, check.OnInput
		if r.Source.URL == "" {
			r.Source = check.Source{
				Title: "Networking on Windows: load balancing and Services",
				URL:   networking + "#load-balancing-and-services",
			}
		}
		return r
	}

	count := func(pods []check.Selected) (n int64) {
		for _, p := range pods {
			n += p.Replicas
		}
		return n
	}
	limits := check.Source{Title: "Networking on Windows: limitations", URL: networking + "#limitations"}
	return append([]check.Rule{
		rule(check.Rule{
			ID:       "service-backends",
			Severity: check.Error,
			Source:   limits,
			Fields:   []string{"Service:spec.selector", "spec.replicas"},
			Title:    "the Service has more backends than Windows supports",
			Why:      "HNS refuses the load balancer, and kube-proxy.exe leaves the Service without one",
			Remedy:   "split the workload over several Services, or make the Service headless",
			Cross: onServices(func(s *check.Fact, pods []check.Selected) []check.Hit {
				if n := count(pods); n > backends && s.Spec.Get("clusterIP").Text() != "None" {
					return hits(s.Values("selector"),
						func(string) string { return fmt.Sprintf("%d, and %d is the limit", n, backends) })
				}
				return nil
			}),
		}),
		rule(check.Rule{
			ID:       "service-backends-without-dsr",
			Severity: check.Warning,
			Fields:   []string{"Service:spec.selector", "spec.replicas"},
			Source: check.Source{
				Title: "kubernetes/kubernetes#98680: Windows nodes behind a load balancer with 65 or more pods",
				URL:   "https://github.com/kubernetes/kubernetes/issues/98680",
			},
			Title:  "more than 64 backends need direct server return",
			Why:    "without direct server return, and without the update that raised the limit to 1024, HNS refuses the load balancer: \"invalid number of destinations\"",
			Remedy: "run kube-proxy.exe with --enable-dsr=true, and keep the nodes updated",
			Cross: onServices(func(s *check.Fact, pods []check.Selected) []check.Hit {
				if n := count(pods); n > backendsWithoutDSR && n <= backends &&
					s.Spec.Get("clusterIP").Text() != "None" {
					return hits(s.Values("selector"), func(string) string { return fmt.Sprintf("there are %d", n) })
				}
				return nil
			}),
		}),
		rule(check.Rule{
			ID:         "service-session-affinity",
			Severity:   check.Warning,
			UntilBuild: sessionAffinityBuild,
			Fields:     []string{"Service:spec.sessionAffinity"},
			Title:      "sessionAffinity ClientIP does nothing on this Windows build",
			Why:        "each connection of a client can go to another pod",
			Remedy:     "use Windows Server 2022 or later, or keep no state in a pod",
			Cross: onServices(func(s *check.Fact,
				_ []check.Selected,
			) []check.Hit {
				return at(s, "sessionAffinity", "ClientIP")
			}),
		}),
		rule(check.Rule{
			ID:       "service-session-affinity-timeout",
			Severity: check.Warning,
			Fields:   []string{"Service:spec.sessionAffinityConfig.clientIP.timeoutSeconds"},
			Source: check.Source{
				Title: "Virtual IPs and Service Proxies: session stickiness timeout",
				URL:   "https://kubernetes.io/docs/reference/networking/virtual-ips/#session-stickiness-timeout",
			},
			Title:  "the timeout of session affinity does nothing on Windows",
			Why:    "kube-proxy.exe does not pass it on to HNS",
			Remedy: "remove timeoutSeconds, or do not rely on it",
			Cross: onServices(func(s *check.Fact, _ []check.Selected) []check.Hit {
				return hits(s.Values("sessionAffinityConfig.clientIP.timeoutSeconds"), func(text string) string {
					if text == "10800" { // the default, which the API server writes
						return ""
					}
					return text
				})
			}),
		}),
		rule(check.Rule{
			ID:       "service-local-traffic",
			Severity: check.Warning,
			Source:   limits,
			Fields:   []string{"Service:spec.externalTrafficPolicy", "Service:spec.internalTrafficPolicy"},
			Title:    "the traffic policy Local needs direct server return",
			Why: "without direct server return, pods do not see the client's address, and requests also reach pods on other nodes; kube-proxy.exe " +
				"asks for it by itself where HNS has it (Windows Server 2019 with the updates of August 2020, and later)",
			Remedy: "keep such Services to nodes whose HNS has it; --enable-dsr=true gives it to all Services",
			Cross: onServices(func(s *check.Fact, _ []check.Selected) []check.Hit {
				return append(at(s, "externalTrafficPolicy", "Local"), at(s, "internalTrafficPolicy", "Local")...)
			}),
		}),
	}, families(rule)...)
}

// families returns the rules about IPv4 and IPv6.
func families(rule func(check.Rule) check.Rule) []check.Rule {
	return []check.Rule{
		rule(check.Rule{
			ID:       "service-dual-stack",
			Severity: check.Warning,
			Fields:   []string{"Service:spec.ipFamilyPolicy"},
			Source: check.Source{
				Title: "IPv4/IPv6 dual-stack: Windows support",
				URL:   "https://kubernetes.io/docs/concepts/services-networking/dual-stack/#windows-support",
			},
			Title:  "dual stack needs an l2bridge network on Windows",
			Why:    "overlay (VXLAN) networks on Windows carry IPv4 only",
			Remedy: "use l2bridge, or ipFamilyPolicy SingleStack",
			Cross: onServices(func(s *check.Fact, _ []check.Selected) []check.Hit {
				return at(s, "ipFamilyPolicy", "RequireDualStack", "PreferDualStack")
			}),
		}),
		rule(check.Rule{
			ID:         "service-dual-stack-build",
			Severity:   check.Error,
			UntilBuild: dualStackBuild,
			Fields:     []string{"Service:spec.ipFamilyPolicy"},
			Source: check.Source{
				Title: "hnslib: the HNS versions with IPv4 and IPv6",
				URL:   "https://github.com/microsoft/hnslib/blob/v0.1.2/hcn/hcnglobals.go",
			},
			Title:  "this Windows build has no dual stack",
			Why:    "HNS supports IPv6 addresses beside IPv4 only from version 11.10 on",
			Remedy: "use Windows Server 2022 or later, or ipFamilyPolicy SingleStack",
			Cross: onServices(func(s *check.Fact, _ []check.Selected) []check.Hit {
				return at(s, "ipFamilyPolicy", "RequireDualStack")
			}),
		}),
	}
}
