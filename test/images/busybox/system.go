package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// sleep knows seconds, fractions of them, "infinity", and the units s, m, h and d.
func sleep(ctx context.Context, c *call) int {
	if len(c.args) < 2 {
		return c.usage("missing operand")
	}

	var total time.Duration
	for _, a := range c.args[1:] {
		d, err := seconds(a)
		if err != nil {
			return c.usage("invalid time interval '%s'", a)
		}
		total += d
	}

	if !wait(ctx, total) {
		return 130
	}
	return 0
}

// forever is longer than any test runs.
const forever = 100 * 365 * 24 * time.Hour

func seconds(text string) (time.Duration, error) {
	if text == "infinity" || text == "inf" {
		return forever, nil
	}

	unit := time.Second
	if text != "" {
		if u, ok := map[byte]time.Duration{
			's': time.Second, 'm': time.Minute, 'h': time.Hour,
			'd': 24 * time.Hour,
		}[text[len(text)-1]]; ok {
			unit, text = u, text[:len(text)-1]
		}
	}

	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 {
		return 0, errors.New("not a number of seconds")
	}
	if n > forever.Seconds() {
		return forever, nil
	}
	return time.Duration(n * float64(unit)), nil
}

// date knows -u and a format of the common letters.
func date(_ context.Context, c *call) int {
	now, layout := time.Now(), "%a %b %e %H:%M:%S %Z %Y"
	for _, a := range c.args[1:] {
		switch {
		case a == "-u":
			now = now.UTC()
		case strings.HasPrefix(a, "+"):
			layout = a[1:]
		default:
			return c.usage("unrecognized option: %s", a)
		}
	}

	fmt.Fprintln(c.stdout, strings.NewReplacer(
		"%%", "%", "%s", strconv.FormatInt(now.Unix(), 10), "%N", fmt.Sprintf("%09d", now.Nanosecond()), "%Y",
		now.Format("2006"), "%m", now.Format("01"),
		"%d", now.Format("02"), "%e", now.Format("_2"), "%H", now.Format("15"), "%M", now.Format("04"), "%S",
		now.Format("05"), "%a", now.Format("Mon"),
		"%b", now.Format("Jan"), "%Z", now.Format("MST"), "%z", now.Format("-0700"), "%F", now.Format("2006-01-02"),
		"%T", now.Format("15:04:05"),
	).Replace(layout))

	return 0
}

// env prints the environment, or runs a command with some variables more.
func env(ctx context.Context, c *call) int {
	args := c.args[1:]
	if appletName(c.args[0]) == "printenv" && len(args) > 0 {
		value := c.getenv(args[0])
		if value == "" {
			return 1
		}
		fmt.Fprintln(c.stdout, value)
		return 0
	}

	vars := slices.Clone(c.env)
	for len(args) > 0 && strings.Contains(args[0], "=") {
		vars = append(vars, args[0])
		args = args[1:]
	}
	if len(args) > 0 {
		inner := *c
		inner.env = vars
		return inner.program(ctx, args)
	}

	for _, v := range vars {
		if !strings.HasPrefix(v, "=") { // cmd.exe's current folders
			fmt.Fprintln(c.stdout, v)
		}
	}

	return 0
}

// userName returns the bare name of the user that runs the program.
func userName(c *call) string {
	if name := c.getenv("USERNAME"); name != "" && runtime.GOOS == "windows" {
		return name
	}
	u, err := user.Current()
	if err != nil {
		return strconv.Itoa(os.Getuid())
	}
	return baseName(u.Username)
}

func whoami(_ context.Context, c *call) int {
	fmt.Fprintln(c.stdout, userName(c))
	return 0
}

// id prints numbers on Linux. Windows has none: as busybox there, an administrator is 0, another user is 4095.
func id(_ context.Context, c *call) int {
	o, err := c.parse("u g G n", "")
	if err != nil {
		return c.usage("%v", err)
	}

	uid, gid := os.Getuid(), os.Getgid()
	groups := []string{strconv.Itoa(gid)}
	if runtime.GOOS == "windows" {
		if uid, gid = 4095, 4095; strings.HasSuffix(userName(c), "Administrator") {
			uid, gid = 0, 0
		}
		groups = []string{strconv.Itoa(gid)}
	} else if more, err := os.Getgroups(); err == nil {
		for _, g := range more {
			if s := strconv.Itoa(g); !slices.Contains(groups, s) {
				groups = append(groups, s)
			}
		}
	}

	switch {
	case o.has("u") && o.has("n"):
		fmt.Fprintln(c.stdout, userName(c))
	case o.has("u"):
		fmt.Fprintln(c.stdout, uid)
	case o.has("g"):
		fmt.Fprintln(c.stdout, gid)
	case o.has("G"):
		fmt.Fprintln(c.stdout, strings.Join(groups, " "))
	default:
		fmt.Fprintf(c.stdout, "uid=%d(%s) gid=%d groups=%s\n", uid, userName(c), gid, strings.Join(groups, ","))
	}

	return 0
}

// hostname knows -i, the address by which the machine reaches others, and -f, which is the same name here. The name has
// no line end, as that of the program that it stands in for
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/test/images/busybox/hostname.go), only on Windows.
func hostname(ctx context.Context, c *call) int {
	o, err := c.parse("i f s", "")
	if err != nil {
		return c.usage("%v", err)
	}

	text, err := os.Hostname()
	if o.has("i") {
		var conn net.Conn
		var d net.Dialer
		if conn, err = d.DialContext(ctx, "udp", "8.8.8.8:80"); err == nil { // sends nothing
			defer conn.Close()
			text, _, err = net.SplitHostPort(conn.LocalAddr().String())
		}
	}
	if err != nil {
		return c.fail(err)
	}

	if runtime.GOOS != "windows" {
		text += "\n"
	}
	fmt.Fprint(c.stdout, text)
	return 0
}

func uname(_ context.Context, c *call) int {
	o, err := c.parse("a s n r m o", "")
	if err != nil {
		return c.usage("%v", err)
	}
	kernel, system := "Linux", "GNU/Linux"
	if runtime.GOOS == "windows" {
		kernel, system = "Windows_NT", "MS/Windows"
	}

	node, err := os.Hostname()
	if err != nil {
		return c.fail(err)
	}

	var out []string
	for _, part := range []struct{ flag, text string }{{"s", kernel}, {"n", node}, {"m", "x86_64"}, {"o", system}} {
		if o.has(part.flag) || o.has("a") || (len(o.set) == 0 && part.flag == "s") {
			out = append(out, part.text)
		}
	}

	fmt.Fprintln(c.stdout, strings.Join(out, " "))
	return 0
}

// pause waits until it is told to end: the program of the pause image.
func pause(ctx context.Context, c *call) int {
	if len(c.args) > 1 && c.args[1] == "-v" {
		fmt.Fprintln(c.stdout, "pause: Mullion's stand-in")
		return 0
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	<-ctx.Done()
	return 0
}

func timeout(ctx context.Context, c *call) int {
	args := c.args[1:]
	if len(args) > 0 && args[0] == "-t" { // of old versions
		args = args[1:]
	}
	if len(args) < 2 {
		return c.usage("want SECONDS COMMAND…")
	}

	d, err := seconds(args[0])
	if err != nil {
		return c.usage("invalid time interval '%s'", args[0])
	}
	limited, cancel := context.WithTimeout(ctx, d)
	defer cancel()

	code := c.program(limited, args[1:])
	if limited.Err() != nil && ctx.Err() == nil {
		return 124
	}
	return code
}

func which(_ context.Context, c *call) int {
	code := 0
	for _, name := range c.args[1:] {
		path, err := exec.LookPath(name)
		if err != nil {
			code = 1
			continue
		}
		fmt.Fprintln(c.stdout, path)
	}
	return code
}

func pwd(_ context.Context, c *call) int {
	fmt.Fprintln(c.stdout, c.dir)
	return 0
}

func nproc(_ context.Context, c *call) int {
	fmt.Fprintln(c.stdout, runtime.NumCPU())
	return 0
}
