package rules

import (
	"strings"

	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/check"
)

const commandsCategory = "commands"

// commandPaths returns the paths of a container's commands, each a list of words.
func commandPaths() []string {
	return []string{
		"command", "args", "livenessProbe.exec.command", "readinessProbe.exec.command", "startupProbe.exec.command",
		"lifecycle.postStart.exec.command", "lifecycle.preStop.exec.command",
	}
}

var (
	linuxShell   = lazyregexp.New(`^(/(usr/(local/)?)?s?bin/)?(sh|bash|ash|dash|zsh)$`)
	linuxProgram = lazyregexp.New(
		`^/(usr/(local/)?)?s?bin/[^ ]+$|^/(docker-)?entrypoint\.sh$|^/[^ :\\]+\.(sh|bash)$`)
	pinging       = lazyregexp.New(`(?i)(^|[\s;&|\\/'"(])ping(\.exe)?(\s|$)`)
	linuxCoreutil = lazyregexp.New(
		`^(awk|cat|chmod|chown|cp|cut|date|df|du|env|false|grep|head|kill|killall|ln|ls|mv|nc|pgrep|pidof|pkill|printf|ps|rm|sed|` +
			`sleep|stat|tail|tee|test|touch|tr|true|uname|wc|wget|xargs)$`)
	linuxTools = lazyregexp.New(`(^|[\s;&|(])(/proc/|/dev/null|/etc/|chmod |chown |kill -|ulimit |apt-get |apk )`)
)

func commands() []check.Rule {
	rule := func(r check.Rule) check.Rule {
		r.Category = commandsCategory
		r.Target = check.OnContainer
		r.Fields = nil
		for _, p := range commandPaths() {
			r.Fields = append(r.Fields, p+"[*]")
		}
		return r
	}

	return []check.Rule{
		rule(check.Rule{
			ID:       "command-linux-shell",
			Severity: check.Error,
			Source:   compat("api"),
			Title:    "Windows images have no such shell",
			Why:      "the program is not found, so the container, probe or hook fails",
			Remedy:   "use cmd /c or powershell -Command, or start the program itself",
			Func: each(func(_ *check.Pod, c check.Container) []check.Hit {
				return programs(c, func(word string) bool { return linuxShell.MatchString(word) })
			}),
		}),
		rule(check.Rule{
			ID:       "command-linux-path",
			Severity: check.Error,
			Source:   compat("api"),
			Title:    "this program has a path of Linux",
			Why:      "Windows images have no /bin and no /usr, and cannot run shell scripts",
			Remedy:   `give its path on Windows, such as C:\app\app.exe, or leave the command to the image`,
			Func: each(func(_ *check.Pod, c check.Container) []check.Hit {
				return programs(c, func(word string) bool {
					return linuxProgram.MatchString(word) &&
						!linuxShell.MatchString(word)
				})
			}),
		}),
		rule(check.Rule{
			ID:       "command-linux-tools",
			Severity: check.Warning,
			Source:   compat("api"),
			Title:    "this command names files or tools of Linux",
			Why:      "Windows has no /proc, /dev, /etc, no mode bits, no signals, and its images have no cat, sleep or wget",
			Remedy:   "write the command for cmd or PowerShell",
			Func: each(func(_ *check.Pod, c check.Container) []check.Hit {
				tools := programs(c, func(word string) bool { return linuxCoreutil.MatchString(word) })
				return append(tools, hits(
					words(c), func(text string) string { return strings.TrimSpace(linuxTools.FindString(text)) })...)
			}),
		}),
		rule(check.Rule{
			ID:       "command-ping",
			Severity: check.Info,
			Source:   check.Source{Title: "Networking on Windows: limitations", URL: networking + "#limitations"},
			Title:    "ping does not reach beyond the cluster's network on Windows",
			Why:      "Windows does not translate the addresses of ICMP packets, so a ping to an address beyond the pods' network gets no answer",
			Remedy:   "test with TCP instead: curl, Test-NetConnection",
			Func: each(func(_ *check.Pod, c check.Container) []check.Hit {
				return hits(words(c), func(text string) string {
					if m := pinging.FindString(text); m != "" && !strings.Contains(text, "127.0.0.1") &&
						!strings.Contains(text, "localhost") {
						return strings.Trim(m, " ;&|\t\"'()\\/")
					}
					return ""
				})
			}),
		}),
	}
}

// words returns all words of a container's commands.
func words(c check.Container) []check.Value {
	var vs []check.Value
	for _, path := range commandPaths() {
		vs = append(vs, c.Values(path+"[*]")...)
	}
	return vs
}

// programs returns the first words of a container's commands for which is returns true; args count only if there is no
// command.
func programs(c check.Container, is func(word string) bool) []check.Hit {
	var out []check.Hit
	for _, path := range commandPaths() {
		vs := c.Values(path + "[*]")
		if len(vs) == 0 || (path == "args" &&
			(c.Node.Get("command") != nil || !strings.HasPrefix(vs[0].Node.Text(), "/"))) {
			continue
		}
		if word := vs[0].Node.Text(); is(word) {
			vs[0].At.Note = word
			out = append(out, vs[0].At)
		}
	}
	return out
}
