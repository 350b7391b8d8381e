package rules

import (
	"fmt"
	"math/big"
	"strings"

	"mullion.dev/mullion/internal/check"
)

const resourcesCategory = "resources"

func resources() []check.Rule {
	const page = "https://kubernetes.io/docs/concepts/configuration/windows-resource-management/"
	memory := check.Source{
		Title: "Resource Management on Windows nodes: memory",
		URL:   page + "#resource-management-memory",
	}

	cpu := check.Source{Title: "Resource Management on Windows nodes: CPU", URL: page + "#resource-management-cpu"}
	rule := func(r check.Rule) check.Rule {
		r.Category, r.Target = resourcesCategory, check.OnContainer
		return r
	}

	return []check.Rule{
		reservedMemory(page),
		rule(check.Rule{
			ID:       "memory-request-without-limit",
			Severity: check.Warning,
			Source:   memory,
			Title:    "a memory request without a limit bounds nothing on Windows",
			Why:      "Windows kills no process when memory runs out, and reserves none for containers: without a limit one container makes the whole node page",
			Remedy:   "set limits.memory; leave the request out, or make it equal to the limit",
			When:     []check.Match{{Path: "resources.limits[memory]", Op: check.Absent}},
			Match:    []check.Match{present("resources.requests[memory]")},
		}),
		rule(check.Rule{
			ID:       "memory-request-below-limit",
			Severity: check.Info,
			Source:   memory,
			Fields:   []string{"resources.requests[memory]", "resources.limits[memory]"},
			Title:    "the memory request is not equal to the memory limit",
			Why:      "limits can add up to more than the node's memory; Windows then pages instead of killing a process, which slows down everything on the node",
			Remedy:   "leave the request out, or make it equal to the limit",
			Func: each(func(_ *check.Pod, c check.Container) []check.Hit {
				limit, ok := quantity(c.Node.Get("resources", "limits", "memory").Text())
				return hits(c.Values("resources.requests[memory]"), func(text string) string {
					request, ok2 := quantity(text)
					if !ok || !ok2 || request.Cmp(limit) == 0 {
						return ""
					}
					return fmt.Sprintf("%s of %s", text, c.Node.Get("resources", "limits", "memory").Text())
				})
			}),
		}),
		rule(check.Rule{
			ID:       "cpu-request-without-limit",
			Severity: check.Info,
			Source:   cpu,
			Title:    "a CPU request without a limit gives no share on Windows",
			Why:      "the kubelet passes only the limit to Windows, as a maximum (CpuMaximum); only the scheduler uses the request",
			Remedy:   "set limits.cpu where the container must not take the whole node",
			When:     []check.Match{{Path: "resources.limits[cpu]", Op: check.Absent}},
			Match:    []check.Match{present("resources.requests[cpu]")},
		}),
		rule(check.Rule{
			ID:       "cpu-limit-tiny",
			Severity: check.Info,
			Source: check.Source{
				Title: "Implementing resource controls for Windows containers: CPU",
				URL:   microsoft + "manage-containers/resource-controls#cpu-percent",
			},
			Title:  "this little CPU is also used by Windows' own processes in the container",
			Why:    "the limit is a hard cap on all processes of the container, and Windows' own processes start before the program",
			Remedy: "give it 100m or more",
			Fields: []string{"resources.limits[cpu]"},
			Func: each(func(_ *check.Pod, c check.Container) []check.Hit {
				return hits(c.Values("resources.limits[cpu]"), func(text string) string {
					if v, ok := quantity(text); ok && v.Sign() > 0 && v.Cmp(big.NewRat(1, 20)) < 0 {
						return text
					}
					return ""
				})
			}),
		}),
		rule(check.Rule{
			ID:       "huge-pages-resource",
			Severity: check.Error,
			Source:   compat("compatibility-v1-pod-spec-containers"),
			Fields:   []string{"resources.limits", "resources.requests"},
			Title:    "Windows nodes have no huge pages",
			Why:      "no Windows node offers them, so the pod stays Pending",
			Remedy:   "remove the resource",
			Fix:      check.Remove,
			Func: each(func(_ *check.Pod, c check.Container) []check.Hit {
				var out []check.Hit
				for _, list := range []string{"resources.limits", "resources.requests"} {
					for _, v := range c.Values(list) {
						for _, f := range v.Node.Fields {
							if strings.HasPrefix(f.Key, "hugepages-") {
								out = append(out, check.Hit{Pos: f.Pos, Path: v.At.Path + "[" + f.Key + "]"})
							}
						}
					}
				}

				return out
			}),
		}),
	}
}

// reservedMemory is about the kubelet's configuration of a Windows node.
func reservedMemory(page string) check.Rule {
	least := power(1024, 3) // twice
	least.Add(least, least)
	return check.Rule{
		ID:       "reserved-memory",
		Severity: check.Warning,
		Category: resourcesCategory,
		Target:   check.OnInput,
		Source: check.Source{
			Title: "Resource Management on Windows nodes: resource reservation",
			URL:   page + "#resource-reservation",
		},
		Title:  "less than 2 GiB of memory is reserved for Windows itself",
		Why:    "Windows kills no process when memory runs out: if pods may use all of the memory, the node pages, and everything on it slows down",
		Remedy: "reserve 2 GiB or more in systemReserved.memory and kubeReserved.memory",
		Fields: []string{
			"KubeletConfiguration:containerRuntimeEndpoint", "KubeletConfiguration:staticPodPath",
			"KubeletConfiguration:systemReserved[memory]", "KubeletConfiguration:kubeReserved[memory]",
		},
		Cross: func(in *check.Input) []check.CrossHit {
			var out []check.CrossHit
			for _, k := range in.Objects["KubeletConfiguration"] {
				if !strings.HasPrefix(k.Spec.Get("containerRuntimeEndpoint").Text(), "npipe:") &&
					!drive.MatchString(k.Spec.Get("staticPodPath").Text()) {
					continue // of a Linux node, or it does not say
				}

				sum := new(big.Rat)
				for _, list := range []string{"systemReserved", "kubeReserved"} {
					if v, ok := quantity(k.Spec.Get(list, "memory").Text()); ok {
						sum.Add(sum, v)
					}
				}

				if sum.Cmp(least) < 0 {
					mib, _ := new(big.Rat).Quo(sum, power(1024, 2)).Float64()
					k.At.Note = fmt.Sprintf("%.0f MiB", mib)
					out = append(out, check.CrossHit{Fact: k, Hit: k.At})
				}
			}

			return out
		},
	}
}

// quantity reads a Kubernetes quantity: 100m, 1.5, 128Mi, 1e3, 1G.
// https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
func quantity(text string) (*big.Rat, bool) {
	if len(text) > 40 {
		return nil, false
	}
	number := strings.TrimRight(text, "numkMGTPEi")
	suffix := text[len(number):]
	v, ok := new(big.Rat).SetString(number)
	if !ok || strings.ContainsAny(number, "/_xXoObB") || exponent(number) > 20 {
		return nil, false
	}

	for i, s := range []string{"n", "u", "m", "", "k", "M", "G", "T", "P", "E"} {
		if s == suffix {
			return v.Mul(v, power(1000, i-3)), true
		}
	}

	for i, s := range []string{"Ki", "Mi", "Gi", "Ti", "Pi", "Ei"} {
		if s == suffix {
			return v.Mul(v, power(1024, i+1)), true
		}
	}

	return nil, false
}

// exponent returns the size of a number's exponent, which may be huge in a hostile manifest.
func exponent(number string) int {
	_, e, ok := strings.Cut(strings.ToLower(number), "e")
	if !ok {
		return 0
	}
	var n int
	if _, err := fmt.Sscanf(e, "%d", &n); err != nil || n < -20 {
		return 1 << 20
	}
	return n
}

func power(base int64, n int) *big.Rat {
	v := new(big.Int).Exp(big.NewInt(base), big.NewInt(int64(max(n, -n))), nil)
	if n < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), v)
	}
	return new(big.Rat).SetInt(v)
}
