// Program busybox is the shell and the small Unix programs that Kubernetes' e2e tests call in their images, for Windows
// and for Linux. It is a stand-in for the busybox, curl, netcat, dig, nginx and testlimit programs of upstream's
// images, which cannot be built from source without a Windows machine or downloads
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/test/images/busybox/Dockerfile_windows).
//
// One file is all of them: the name that it is called by decides. The shell is mvdan.cc/sh, a POSIX shell with bash's
// arithmetic and tests. It runs these programs within its own process, as busybox does, because a process under Wine
// costs a tenth of a second and tests loop over seq, dig and sleep.
//
// What is here is what the tests call, with the options that they pass; an unknown option is an error, never ignored.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	dir, err := os.Getwd()
	if err != nil {
		dir = "/"
	}

	code := run(ctx, &call{
		args:   os.Args,
		dir:    dir,
		env:    os.Environ(),
		stdin:  os.Stdin,
		stdout: os.Stdout,
		stderr: os.Stderr,
	})
	stop()
	os.Exit(code)
}

// applet is one of the programs. It returns an exit code.
type applet func(ctx context.Context, c *call) int

// applets returns the programs by name; the shell is one of them.
func applets() map[string]applet {
	return map[string]applet{
		"sh": sh, "ash": sh, "bash": sh,
		"cat": cat, "ls": ls, "cp": cp, "mv": mv, "rm": rm, "mkdir": mkdir, "rmdir": rmdir, "touch": touch,
		"find":  find,
		"chmod": chmod, "ln": ln, "stat": stat, "dd": dd, "sync": sync, "mktemp": mktemp, "du": du,
		"echo": echo, "head": head, "tail": tail, "grep": grep, "egrep": grep, "wc": wc, "sort": sortLines,
		"uniq": uniq, "cut": cut, "tr": tr,
		"tee": tee, "seq": seq, "base64": base64Coder, "md5sum": sum, "sha1sum": sum, "sha256sum": sum, "xargs": xargs,
		"printf": viaShell, "test": viaShell,
		"[": viaShell, "basename": basename, "dirname": dirname, "awk": awk, "expr": expr, "hexdump": hexdump,
		"sleep": sleep, "date": date, "env": env, "printenv": env, "id": id, "whoami": whoami, "hostname": hostname,
		"uname": uname,
		"true":  func(context.Context, *call) int { return 0 }, "false": func(context.Context, *call) int { return 1 },
		"pause": pause, "timeout": timeout, "which": which, "pwd": pwd, "nproc": nproc,
		"curl": curl, "wget": wget, "nginx": nginx, "nc": nc, "dig": dig, "nslookup": nslookup, "getent": getent,
		"testlimit": testlimit,
	}
}

// run runs the program that the first argument names. "busybox NAME ARGS…" works too, and "busybox" lists the names.
func run(ctx context.Context, c *call) int {
	name := appletName(c.args[0])
	if name == "busybox" {
		if len(c.args) < 2 || c.args[1] == "--list" {
			names := make([]string, 0, len(applets()))
			for n := range applets() {
				names = append(names, n)
			}
			slices.Sort(names)
			fmt.Fprintln(c.stdout, strings.Join(names, "\n"))
			return 0
		}

		c.args = c.args[1:]
		name = appletName(c.args[0])
	}

	a := applets()[name]
	if a == nil {
		fmt.Fprintf(c.stderr, "%s: applet not found\n", name)
		return 127
	}

	return a(ctx, c)
}

// appletName returns the name of the program that a path names: /bin/cat, C:\bin\cat.exe and cat are cat.
func appletName(path string) string {
	if i := strings.LastIndexAny(path, `/\`); i >= 0 {
		path = path[i+1:]
	}
	if n := len(path) - len(".exe"); n > 0 && strings.EqualFold(path[n:], ".exe") {
		path = path[:n]
	}
	return path
}
