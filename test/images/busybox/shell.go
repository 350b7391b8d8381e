package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// sh is the shell: sh -c COMMAND [NAME [ARGS…]], sh FILE [ARGS…], or sh with the commands on standard input.
func sh(ctx context.Context, c *call) int {
	command, file, params, flags, err := shellArgs(c.args[1:])
	if err != nil {
		return c.usage("%v", err)
	}
	runner, err := newShell(c, params, flags)
	if err != nil {
		return c.usage("%v", err)
	}

	parser := syntax.NewParser(syntax.Variant(syntax.LangBash))
	var in io.Reader
	switch {
	case command != nil:
		in = strings.NewReader(*command)
	case file != "":
		f, err := os.Open(c.path(file))
		if err != nil {
			c.fail(err)
			return 127
		}
		defer f.Close()
		in = f

	default:
		return interactive(ctx, c, runner, parser)
	}

	prog, err := parser.Parse(in, file)
	if err != nil {
		return c.usage("%v", err)
	}
	return exitCode(c, runner.Run(ctx, prog))
}

// interactive runs each command as soon as its line has been read.
func interactive(ctx context.Context, c *call, runner *interp.Runner, parser *syntax.Parser) int {
	var last error
	err := parser.Stmts(c.stdin, func(stmt *syntax.Stmt) bool {
		last = runner.Run(ctx, stmt)
		return !runner.Exited()
	})
	if err != nil {
		return c.usage("%v", err)
	}
	return exitCode(c, last)
}

// shellArgs splits the shell's own arguments. params are what the script sees as $1, $2, …
func shellArgs(args []string) (command *string, file string, params, flags []string, err error) {
	for len(args) > 0 && len(args[0]) > 1 && (args[0][0] == '-' || args[0][0] == '+') {
		a := args[0]
		args = args[1:]
		if a == "--" {
			break
		}

		for _, l := range a[1:] {
			switch l {
			case 'c':
				if len(args) == 0 {
					return nil, "", nil, nil, errors.New("option requires an argument -- c")
				}
				command, args = &args[0], args[1:]

			case 'e', 'u', 'x', 'n', 'f', 'a':
				flags = append(flags, a[:1]+string(l))
			case 'l', 'i', 's':
			default:
				return nil, "", nil, nil, fmt.Errorf("unrecognized option: -%c", l)
			}
		}
	}

	if len(args) > 0 { // $0 or the script
		if command == nil {
			file = args[0]
		}
		args = args[1:]
	}

	return command, file, args, flags, nil
}

func newShell(c *call, params, flags []string) (*interp.Runner, error) {
	vars := append([]string{}, c.env...)
	if c.getenv("PWD") == "" {
		vars = append(vars, "PWD="+filepath.ToSlash(c.dir)) // as busybox for Windows has it
	}

	return interp.New(
		interp.Env(expand.ListEnviron(vars...)),
		interp.Dir(c.dir),
		interp.Params(append(append(flags, "--"), params...)...),
		interp.StdIO(c.stdin, c.stdout, c.stderr),
		interp.ExecHandlers(execApplet),
		interp.CallHandler(func(ctx context.Context, args []string) ([]string, error) {
			return rooted(interp.HandlerCtx(ctx).Dir, args, runtime.GOOS), nil
		}),
		interp.OpenHandler(openFile),
		interp.StatHandler(func(ctx context.Context, name string, follow bool) (fs.FileInfo, error) {
			path := osPath(interp.HandlerCtx(ctx).Dir, name, runtime.GOOS)
			if follow {
				return os.Stat(path)
			}
			return os.Lstat(path)
		}),
		interp.ReadDirHandler2(func(ctx context.Context, name string) ([]fs.DirEntry, error) {
			return os.ReadDir(osPath(interp.HandlerCtx(ctx).Dir, name, runtime.GOOS))
		}),
	)
}

// rooted gives the paths of the shell's own commands their drive: the shell takes one that begins with a slash on
// Windows for one below its folder.
func rooted(dir string, args []string, goos string) []string {
	if goos != "windows" || len(args) < 2 {
		return args
	}

	var is func(i int) bool
	switch args[0] {
	case "cd":
		is = func(int) bool { return true }
	case "test", "[":
		// what a test of one file is about
		is = func(i int) bool {
			before := args[i-1]
			return i > 1 && len(before) == 2 && before[0] == '-' &&
				strings.ContainsRune("bcdefghLprsSuwx", rune(before[1]))
		}
	}
	if is == nil {
		return args
	}

	args = slices.Clone(args)
	for i, a := range args {
		if i > 0 && strings.HasPrefix(a, "/") && is(i) {
			args[i] = osPath(dir, a, goos)
		}
	}

	return args
}

// execApplet runs a program that is one of ours in this process: by its bare name or as /bin/NAME. Another is looked
// for as a file.
func execApplet(next interp.ExecHandlerFunc) interp.ExecHandlerFunc {
	return func(ctx context.Context, args []string) error {
		hc := interp.HandlerCtx(ctx)
		folder := strings.TrimSuffix(strings.ReplaceAll(args[0], `\`, "/"), "/"+baseName(args[0]))
		known := applets()[appletName(args[0])]
		if known != nil && (folder == args[0] || strings.EqualFold(folder, "/bin") || folder == "/usr/bin" ||
			strings.EqualFold(folder, "c:/bin")) {
			code := known(ctx, &call{
				args:   args,
				dir:    hc.Dir,
				env:    environ(hc.Env),
				stdin:  hc.Stdin,
				stdout: hc.Stdout,
				stderr: hc.Stderr,
			})
			if code != 0 {
				return interp.ExitStatus(code) // exit codes of applets are small
			}

			return ctx.Err()
		}

		if strings.ContainsAny(args[0], `/\`) {
			args = append([]string{osPath(hc.Dir, args[0], runtime.GOOS)}, args[1:]...)
		}
		return next(ctx, args)
	}
}

func baseName(path string) string {
	return path[strings.LastIndexAny(path, `/\`)+1:]
}

func environ(env expand.Environ) []string {
	var list []string
	for name, v := range env.Each {
		if v.Exported && v.Kind == expand.String {
			list = append(list, name+"="+v.Str)
		}
	}
	return list
}

// openFile opens the file of a redirection.
func openFile(ctx context.Context, path string, flag int, perm fs.FileMode) (io.ReadWriteCloser, error) {
	return os.OpenFile(osPath(interp.HandlerCtx(ctx).Dir, path, runtime.GOOS), flag, perm)
}

// exitCode returns the code that a script ended with.
func exitCode(c *call, err error) int {
	var status interp.ExitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	}
	return c.fail(err)
}

// viaShell runs one of the shell's own commands, such as test, as a program.
func viaShell(ctx context.Context, c *call) int {
	words := make([]string, len(c.args))
	for i, a := range c.args {
		if i == 0 {
			a = appletName(a)
		}
		quoted, err := syntax.Quote(a, syntax.LangBash)
		if err != nil {
			return c.usage("%v", err)
		}
		words[i] = quoted
	}

	script := strings.Join(words, " ")
	return sh(ctx, &call{
		args:   []string{"sh", "-c", script},
		dir:    c.dir,
		env:    c.env,
		stdin:  c.stdin,
		stdout: c.stdout,
		stderr: c.stderr,
	})
}

// program runs a command line as the shell would: one of ours in this process, another as a process.
func (c *call) program(ctx context.Context, args []string) int {
	words := make([]string, len(args))
	for i, a := range args {
		quoted, err := syntax.Quote(a, syntax.LangBash)
		if err != nil {
			return c.usage("%v", err)
		}
		words[i] = quoted
	}

	return sh(ctx, &call{
		args:   []string{"sh", "-c", strings.Join(words, " ")},
		dir:    c.dir,
		env:    c.env,
		stdin:  c.stdin,
		stdout: c.stdout,
		stderr: c.stderr,
	})
}

// wait waits for d, or until the program is to end, which it tells.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
