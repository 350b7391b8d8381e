// Package robocopy copies trees of files as Windows' robocopy.exe does, with its options, its report and its exit codes
// (https://learn.microsoft.com/windows-server/administration/windows-commands/robocopy). Data, times and attributes are
// copied; owners, lists of access and audit lists are not.
package robocopy

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Streams are a program's standard streams.
type Streams struct{ Out, Err io.Writer }

// The bits of the exit code.
const (
	copied   = 1
	extra    = 2
	mismatch = 4
	failed   = 8
	fatal    = 16
)

// job is a run.
type job struct {
	options
	out   io.Writer
	dirs  count
	files count
	bytes count
	code  int
}

// count is a line of the summary.
type count struct{ total, copied, skipped, mismatch, failed, extra int64 }

// Run runs robocopy and returns its exit code.
func Run(s Streams, args []string) int {
	o, code := parse(s, args)
	if code >= 0 {
		return code
	}

	j := &job{options: o, out: s.Out}
	if o.log != "" {
		flags := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
		if o.logMore {
			flags = os.O_CREATE | os.O_WRONLY | os.O_APPEND
		}
		file, err := os.OpenFile(o.log, flags, 0o666)
		if err != nil {
			fmt.Fprintf(s.Out, "\r\nERROR : Unable to open log file: %s\r\n", o.log)
			return fatal
		}

		defer file.Close()
		j.out = file
		if o.tee {
			j.out = io.MultiWriter(s.Out, file)
		}
	}

	begin := time.Now()
	if !o.noHead {
		j.head(begin)
	}
	if info, err := os.Stat(o.from); err != nil || !info.IsDir() {
		j.print("%s ERROR 2 (0x00000002) Accessing Source Directory %s", time.Now().Format("2006/01/02 15:04:05"), folder(o.from))
		j.print("The system cannot find the file specified.")
		return fatal
	}

	j.tree(o.from, o.to, 1)
	if o.move == moveAll && j.files.failed == 0 && j.dirs.failed == 0 {
		_ = os.Remove(o.from) // stays if it is not empty
	}
	if !o.noSummary {
		j.summary(time.Since(begin))
	}
	return j.code
}

func (j *job) print(format string, args ...any) { fmt.Fprintf(j.out, format+"\r\n", args...) }

// folder returns a folder's name as the report has it.
func folder(path string) string {
	return strings.TrimRight(path, `\/`) + string(filepath.Separator)
}

const line = "-------------------------------------------------------------------------------"

// head prints what is about to be done.
func (j *job) head(begin time.Time) {
	j.print("")
	j.print(line)
	j.print("   ROBOCOPY     ::     Robust File Copy for Windows                              ")
	j.print(line)
	j.print("")
	j.print("  Started : %s", begin.Format("Monday, January 2, 2006 3:04:05 PM"))
	j.print("   Source : %s", folder(j.from))
	j.print("     Dest : %s", folder(j.to))
	j.print("")
	for i, p := range j.patterns {
		if i == 0 {
			j.print("    Files : %s", p)
		} else {
			j.print("            %s", p)
		}
	}

	j.print("\t    ")
	for i, list := range [][]string{j.notFiles, j.notDirs} {
		for k, name := range list {
			label := []string{"Exc Files", " Exc Dirs"}[i]
			if k == 0 {
				j.print("%s : %s", label, name)
			} else {
				j.print("            %s", name)
			}
		}
	}

	j.print("  Options : %s ", j.text)
	j.print("")
	j.print("%s", line[1:])
	j.print("")
}

// summary prints what was done.
func (j *job) summary(took time.Duration) {
	j.print("")
	j.print("%s", line[1:])
	j.print("")
	j.print("               Total    Copied   Skipped  Mismatch    FAILED    Extras")
	for _, row := range []struct {
		name string
		of   count
	}{{"    Dirs", j.dirs}, {"   Files", j.files}, {"   Bytes", j.bytes}} {
		c := row.of
		j.print("%s : %9s %9s %9s %9s %9s %9s", row.name, short(c.total, row.name), short(c.copied, row.name), short(c.skipped, row.name),
			short(c.mismatch, row.name), short(c.failed, row.name), short(c.extra, row.name))
	}

	clock := func(d time.Duration) string {
		s := int(d.Seconds())
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	j.print("   Times : %9s %9s %29s %9s", clock(took), clock(took), clock(0), clock(0))
	if j.bytes.copied > 0 && took > 0 {
		rate := float64(j.bytes.copied) / took.Seconds()
		j.print("")
		j.print("")
		j.print("   Speed : %19.0f Bytes/sec.", rate)
		j.print("   Speed : %19.3f MegaBytes/min.", rate*60/(1<<20))
	}

	j.print("   Ended : %s", time.Now().Format("Monday, January 2, 2006 3:04:05 PM"))
	j.print("")
}

// short returns a number of the summary; bytes have a unit.
func short(n int64, row string) string {
	if strings.TrimSpace(row) != "Bytes" || n < 1<<10 {
		return fmt.Sprint(n)
	}
	return size(n)
}

// size returns a number of bytes as the report has it.
func size(n int64) string {
	value, units := float64(n), []string{"", " k", " m", " g", " t"}
	i := 0
	for value >= 1<<10 && i < len(units)-1 && n >= 1<<10 {
		value /= 1 << 10
		i++
	}

	if i == 0 {
		return fmt.Sprint(n)
	}
	text := fmt.Sprintf("%.2f", value)
	if i < 2 {
		text = fmt.Sprintf("%.1f", value)
	}
	return text + units[i]
}
