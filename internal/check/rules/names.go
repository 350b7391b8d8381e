package rules

import (
	"strings"

	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/check"
)

const namesCategory = "names"

// partlyQualified matches service.namespace.svc, which search domains complete on Linux; find checks what follows.
var partlyQualified = lazyregexp.New(`\b[a-z][-a-z0-9]*\.[a-z][-a-z0-9]*\.svc\b`)

// names returns the rules about names of hosts and of environment variables.
func names() []check.Rule {
	return []check.Rule{
		{
			ID:       "dns-partial-name",
			Severity: check.Warning,
			Category: namesCategory,
			Target:   check.OnContainer,
			Source:   dnsSource(),
			Title:    "a Windows pod does not resolve this name",
			Why:      "Windows takes a name with a dot as complete and adds no search domain, so service.namespace and service.namespace.svc are not found",
			Remedy:   "write service.namespace.svc.cluster.local, or the bare name of a service of the same namespace",
			Fields:   []string{"env[*].value", "args[*]", "command[*]"},
			Func: each(func(_ *check.Pod, c check.Container) []check.Hit {
				return hits(texts(c), func(text string) string {
					for _, at := range partlyQualified.FindAllStringIndex(text, -1) {
						rest := text[at[1]:]
						if rest == "" || (rest[0] != '.' && rest[0] != '-') {
							return text[at[0]:at[1]]
						}
					}
					return ""
				})
			}),
		},
		{
			ID:       "env-name-case",
			Severity: check.Warning,
			Category: namesCategory,
			Target:   check.OnContainer,
			Fields:   []string{"env[*].name"},
			Title:    "on Windows this environment variable is the same as an earlier one",
			Why:      "Windows ignores case in the names of environment variables, so one of the two is lost",
			Remedy:   "rename one of them",
			Source: check.Source{
				Title: "about_Environment_Variables",
				URL:   "https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_environment_variables",
			},
			Func: each(func(_ *check.Pod, c check.Container) []check.Hit {
				seen := map[string]string{}
				return hits(c.Values("env[*].name"), func(name string) string {
					before, ok := seen[strings.ToUpper(name)]
					seen[strings.ToUpper(name)] = name
					if ok && before != name {
						return name + " and " + before
					}
					return ""
				})
			}),
		},
		{
			ID:       "env-name-colon",
			Severity: check.Error,
			Category: namesCategory,
			Target:   check.OnContainer,
			Until:    32,
			Title:    "this Kubernetes version refuses : in names of environment variables",
			Why:      "without the feature gate RelaxedEnvironmentVariableValidation a name may have only letters, digits, _ - and .",
			Remedy:   "write __ instead of :, which .NET reads the same way",
			Source: check.Source{
				Title: "Define Environment Variables for a Container",
				URL:   "https://kubernetes.io/docs/tasks/inject-data-application/define-environment-variable-container/",
			},
			Match: []check.Match{{Path: "env[*].name", Op: check.Matches, Values: []string{":"}}},
		},
		{
			ID:       "env-path",
			Severity: check.Warning,
			Category: namesCategory,
			Target:   check.OnContainer,
			Source:   compat("api"),
			Title:    "this value of PATH is a search path of Linux",
			Why:      "this value replaces the image's PATH, and Windows separates folders with ; so no program is found",
			Remedy:   "leave PATH to the image",
			Fields:   []string{"env[*].name", "env[*].value"},
			Func: each(func(_ *check.Pod, c check.Container) []check.Hit {
				var out []check.Hit
				for _, v := range c.Values("env[*]") {
					if equalFold(v.Node.Get("name").Text(), "PATH") &&
						strings.Contains(v.Node.Get("value").Text(), "/bin") {
						out = append(out, v.At)
					}
				}
				return out
			}),
		},
	}
}

// texts returns the values of a container that may contain names of hosts.
func texts(c check.Container) []check.Value {
	vs := c.Values("env[*].value")
	for _, path := range commandPaths() {
		vs = append(vs, c.Values(path+"[*]")...)
	}
	return vs
}
