package rules

import (
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/check"
)

// probePaths returns the paths of a container's probes.
func probePaths() []string { return []string{"livenessProbe", "readinessProbe", "startupProbe"} }

// builtins are commands that are a part of cmd.exe, of which no program has the name.
// https://learn.microsoft.com/windows-server/administration/windows-commands/windows-commands
func builtins() []string {
	return []string{
		"assoc", "break", "call", "cd", "chdir", "cls", "copy", "del", "dir", "dpath", "echo", "endlocal", "erase",
		"exit", "for", "ftype", "goto", "if", "md", "mkdir", "mklink", "move", "path", "pause", "popd", "prompt",
		"pushd", "rd", "rem", "ren", "rename", "rmdir", "set", "setlocal", "shift", "start", "title", "type", "ver",
		"verify", "vol",
	}
}

// windowsVariables are variables that Windows itself sets.
func windowsVariables() []string {
	return []string{
		"path", "systemroot", "windir", "systemdrive", "comspec", "pathext", "programfiles", "programfiles(x86)",
		"programdata", "allusersprofile", "commonprogramfiles", "userprofile", "username", "userdomain", "public",
		"appdata", "localappdata", "temp", "tmp", "computername", "homedrive", "homepath", "os",
		"number_of_processors", "processor_architecture",
	}
}

var (
	programPath = lazyregexp.New(`(?i)[\\/].*\.(exe|com|bat|cmd)$`)
	percentName = lazyregexp.New(`%([A-Za-z_][A-Za-z0-9_]*(\([A-Za-z0-9]+\))?)%`)
	windowsCmd  = lazyregexp.New(`(?i)(^|[\\/])cmd(\.exe)?$|\.(bat|cmd)$`)
	powershells = lazyregexp.New(`(?i)(^|[\\/])(powershell|pwsh)(\.exe)?$`)
)

// isShell reports whether a program starts others and waits for them.
func isShell(program string) bool {
	return windowsCmd.MatchString(program) || powershells.MatchString(program)
}

func execs() []check.Rule {
	const probes = "https://kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/"
	var paths, timeouts []string
	for _, p := range commandPaths() {
		if p != "args" {
			paths = append(paths, p+"[*]")
		}
	}

	for _, p := range probePaths() {
		timeouts = append(timeouts, p+".exec.command[*]", p+".timeoutSeconds")
	}

	rules := []check.Rule{
		{
			ID:       "command-builtin",
			Severity: check.Error,
			Source: check.Source{
				Title: "Windows commands: cmd",
				URL:   "https://learn.microsoft.com/windows-server/administration/windows-commands/cmd",
			},
			Title:  "this is a command of cmd, and no program",
			Why:    "no shell runs a container's command, probe or hook, so the program is not found",
			Remedy: "begin the list with cmd and /c",
			Fields: paths,
			Func: each(func(_ *check.Pod, c check.Container) []check.Hit {
				return firstWords(c, func(word string) bool {
					return slices.Contains(builtins(), strings.ToLower(word))
				})
			}),
		},
		{
			ID:       "command-one-string",
			Severity: check.Error,
			Source: check.Source{
				Title: "Azure/AKS#1836: exec probes on Windows",
				URL:   "https://github.com/Azure/AKS/issues/1836",
			},
			Title:  "a program and its arguments are one string",
			Why:    "no shell takes it apart, so a program of that whole name is looked for, and not found",
			Remedy: "make each argument an item of the list",
			Fields: paths,
			Func: each(func(_ *check.Pod, c check.Container) []check.Hit {
				return firstWords(c, func(word string) bool {
					return strings.Contains(strings.TrimSpace(word), " ") && !programPath.MatchString(word)
				})
			}),
		},
		{
			ID:       "command-percent",
			Severity: check.Warning,
			Source: check.Source{
				Title: "Define dependent environment variables",
				URL:   "https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/",
			},
			Title:  "nothing puts the variable's value here",
			Why:    "only cmd expands %NAME%; Kubernetes expands $(NAME), of variables that the pod sets",
			Remedy: "write $(NAME) for a variable of env, or start the program by cmd /c",
			Fields: append(slices.Clone(paths), "args[*]", "env[*].name", "env[*].value"),
			Func:   each(unexpanded),
		},
		{
			ID:       "env-tz",
			Severity: check.Info,
			Source: check.Source{
				Title: ".NET: TimeZoneInfo.Local",
				URL:   "https://learn.microsoft.com/dotnet/api/system.timezoneinfo.local#remarks",
			},
			Title:  "TZ does not set the time zone of most programs on Windows",
			Why:    "Windows and .NET take it from the registry; only programs of C's runtime and some others read TZ, in another form",
			Remedy: "set the zone in the image or in the program, or work in UTC",
			Fields: []string{"env[*].name"},
			Func: each(func(_ *check.Pod, c check.Container) []check.Hit {
				return hits(c.Values("env[*].name"), func(name string) string {
					if equalFold(name, "TZ") {
						return name
					}
					return ""
				})
			}),
		},
		{
			ID:       "probe-powershell-timeout",
			Severity: check.Warning,
			Source:   check.Source{Title: "Configure probes", URL: probes + "#configure-probes"},
			Title:    "PowerShell hardly starts within the second that this probe has",
			Why:      "PowerShell takes a second and more to start, so the probe fails while the container works",
			Remedy:   "set timeoutSeconds to 10 or more, or probe by httpGet, tcpSocket or a small program",
			Fields:   timeouts,
			Func:     each(slowProbes),
		},
		{
			ID:       "shell-at-stop",
			Severity: check.Warning,
			Source:   compat("compatibility-v1-pod"),
			Title:    "at the container's end only the shell is told",
			Why:      "CTRL_SHUTDOWN_EVENT goes to the container's first process, here a shell, so the program behind it drains nothing and is killed",
			Remedy:   "start the program itself, or let a preStop hook end it and wait for it",
			Fields:   []string{"command[*]", "lifecycle.preStop", "spec.terminationGracePeriodSeconds"},
			Func:     each(shellsAtStop),
		},
	}

	for i := range rules {
		rules[i].Category, rules[i].Target = commandsCategory, check.OnContainer
	}

	return rules
}

// firstWords returns the first words of the lists that begin with a program, for which is returns true.
func firstWords(c check.Container, is func(word string) bool) []check.Hit {
	var out []check.Hit
	for _, path := range commandPaths() {
		vs := c.Values(path + "[*]")
		if len(vs) == 0 || path == "args" {
			continue
		}
		if word := vs[0].Node.Text(); is(word) {
			vs[0].At.Note = word
			out = append(out, vs[0].At)
		}
	}
	return out
}

// unexpanded returns the values with a variable in percent signs that nothing expands: one of Windows' own, or of the
// container.
func unexpanded(_ *check.Pod, c check.Container) []check.Hit {
	known := windowsVariables()
	for _, v := range c.Values("env[*].name") {
		known = append(known, strings.ToLower(v.Node.Text()))
	}

	note := func(text string) string {
		for _, m := range percentName.FindAllString(text, -1) {
			if slices.Contains(known, strings.ToLower(strings.Trim(m, "%"))) {
				return m
			}
		}
		return ""
	}

	out := hits(c.Values("env[*].value"), note)
	for _, path := range commandPaths() {
		vs := c.Values(path + "[*]")
		program := ""
		if len(vs) > 0 {
			program = vs[0].Node.Text()
		}

		if path == "args" {
			program = ""
			if command := c.Node.Get("command").Elements(); len(command) > 0 {
				program = command[0].Text()
			}
		}
		if program == "" || isShell(program) {
			continue // a shell, or the image's program, which may be one
		}

		out = append(out, hits(vs, note)...)
	}

	return out
}

// slowProbes returns the probes by PowerShell that have a second.
func slowProbes(_ *check.Pod, c check.Container) []check.Hit {
	var out []check.Hit
	for _, path := range probePaths() {
		vs := c.Values(path + ".exec.command[*]")
		seconds, set := c.Node.Get(path, "timeoutSeconds").Int()
		if len(vs) == 0 || (set && seconds > 1) {
			continue
		}

		program := vs[0].Node.Text()
		if !programPath.MatchString(program) {
			program, _, _ = strings.Cut(program, " ")
		}
		if powershells.MatchString(program) {
			out = append(out, vs[0].At)
		}
	}

	return out
}

// shellsAtStop returns the commands by a shell of containers that have something to do at their end.
func shellsAtStop(p *check.Pod, c check.Container) []check.Hit {
	vs := c.Values("command[*]")
	grace := p.Spec().Get("terminationGracePeriodSeconds")
	if len(vs) == 0 || !isShell(vs[0].Node.Text()) || (!grace.Set() && !c.Node.Get("lifecycle", "preStop").Set()) {
		return nil
	}
	if seconds, ok := grace.Int(); ok && seconds <= 5 && !c.Node.Get("lifecycle", "preStop").Set() {
		return nil // whoever writes that wants no draining
	}
	vs[0].At.Note = vs[0].Node.Text()
	return []check.Hit{vs[0].At}
}
