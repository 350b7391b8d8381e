package robocopy

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// What becomes of a file at the source after it is copied.
const (
	moveFiles = 1
	moveAll   = 2
)

// options are robocopy's arguments.
type options struct {
	from, to                       string
	patterns, notFiles, notDirs    []string
	below, empty, purge, same      bool
	notOlder, notNewer, notChanged bool
	notExtra, notLonely            bool
	dry, rough, verbose            bool
	noHead, noSummary, noFiles     bool
	noDirs, noSize, noClass        bool
	move, levels, retries          int
	wait                           time.Duration
	log                            string
	logMore, tee                   bool
	text                           string // the options, as the report shows them
}

// switches returns the options without a value.
func (o *options) switches() map[string]func() {
	set := func(flags ...*bool) func() {
		return func() {
			for _, f := range flags {
				*f = true
			}
		}
	}
	nothing := func() {}
	return map[string]func(){
		"S": set(&o.below), "E": set(&o.below, &o.empty), "MIR": set(&o.below, &o.empty, &o.purge), "PURGE": set(&o.purge),
		"IS": set(&o.same), "XO": set(&o.notOlder), "XN": set(&o.notNewer), "XC": set(&o.notChanged), "XX": set(&o.notExtra),
		"XL": set(&o.notLonely), "L": set(&o.dry), "FFT": set(&o.rough), "V": set(&o.verbose), "NJH": set(&o.noHead),
		"NJS": set(&o.noSummary), "NFL": set(&o.noFiles), "NDL": set(&o.noDirs), "NS": set(&o.noSize), "NC": set(&o.noClass),
		"TEE": set(&o.tee), "MOV": func() { o.move = moveFiles }, "MOVE": func() { o.move = moveAll },
		// Files are copied one after the other and whole, links are not followed, and nothing is asked of privileges.
		"NP": nothing, "MT": nothing, "Z": nothing, "B": nothing, "ZB": nothing, "J": nothing, "XJ": nothing, "XJD": nothing, "XJF": nothing,
		"NOOFFLOAD": nothing, "UNICODE": nothing, "BYTES": nothing, "NODCOPY": nothing, "REG": nothing, "TBD": nothing,
	}
}

// parse reads the arguments. The code is negative if there is something to copy.
func parse(s Streams, args []string) (o options, code int) {
	o.retries, o.wait = 1000000, 30*time.Second
	print := func(format string, a ...any) { fmt.Fprintf(s.Out, format+"\r\n", a...) }
	var names []string
	list := (*[]string)(nil) // /XF and /XD take what follows
	for i, arg := range args {
		if arg == "" || (arg[0] != '/' && arg[0] != '-') || len(arg) == 1 {
			if list != nil {
				*list = append(*list, arg)
			} else {
				names = append(names, strings.Trim(arg, `"`))
			}
			continue
		}

		list = nil
		name := strings.ToUpper(arg[1:])
		switch name {
		case "?":
			print("Usage :: ROBOCOPY source destination [file [file]...] [options]")
			return o, fatal
		case "XF":
			list = &o.notFiles
			continue
		case "XD":
			list = &o.notDirs
			continue
		}

		if !o.option(name, arg) {
			print("")
			print("ERROR : Invalid Parameter #%d : \"%s\"", i+1, arg)
			print("")
			print("       Simple Usage :: ROBOCOPY source destination /MIR")
			return o, fatal
		}
	}

	if len(names) < 2 {
		print("")
		print("ERROR : No %s Directory Specified.", map[bool]string{true: "Source", false: "Destination"}[len(names) == 0])
		print("")
		print("       Simple Usage :: ROBOCOPY source destination /MIR")
		return o, fatal
	}

	for i, to := range []*string{&o.from, &o.to} {
		path, err := filepath.Abs(names[i])
		if err != nil {
			path = names[i]
		}
		*to = path
	}

	o.patterns = names[2:]
	if len(o.patterns) == 0 {
		o.patterns = []string{"*.*"}
	}
	o.text = o.summary()
	return o, -1
}

// option takes an option with or without a value.
func (o *options) option(name, arg string) bool {
	if set, ok := o.switches()[name]; ok {
		set()
		return true
	}
	key, value, valued := strings.Cut(name, ":")
	if !valued {
		return false
	}

	n, err := strconv.Atoi(value)
	switch key {
	case "R":
		o.retries = n
	case "W":
		o.wait = time.Duration(n) * time.Second
	case "LEV":
		o.levels = n
	case "MT":
	case "COPY":
		return value != "" && strings.Trim(value, "DATX") == ""
	case "DCOPY":
		return value != "" && strings.Trim(value, "DATEX") == ""
	case "LOG", "LOG+", "UNILOG", "UNILOG+":
		o.log, o.logMore = arg[len(key)+2:], strings.HasSuffix(key, "+")
		return o.log != ""

	default:
		return false
	}

	return err == nil && n >= 0
}

// summary returns the options as the report shows them.
func (o *options) summary() string {
	words := append([]string(nil), o.patterns...)
	for _, f := range []struct {
		on   bool
		text string
	}{
		{o.noSize, "/NS"},
		{o.noClass, "/NC"},
		{o.noDirs, "/NDL"},
		{o.noFiles, "/NFL"},
		{o.tee, "/TEE"},
		{o.dry, "/L"},
		{o.below, "/S"},
		{o.empty, "/E"},
	} {
		if f.on {
			words = append(words, f.text)
		}
	}

	words = append(words, "/DCOPY:DA", "/COPY:DAT")
	for _, f := range []struct {
		on   bool
		text string
	}{
		{o.purge, "/PURGE"},
		{o.purge && o.empty, "/MIR"},
		{o.move == moveFiles, "/MOV"},
		{o.move == moveAll, "/MOVE"},
		{o.notOlder, "/XO"},
		{o.notNewer, "/XN"},
		{o.notChanged, "/XC"},
		{o.notExtra, "/XX"},
		{o.notLonely, "/XL"},
		{o.same, "/IS"},
		{o.rough, "/FFT"},
	} {
		if f.on {
			words = append(words, f.text)
		}
	}

	words = append(words, fmt.Sprintf("/R:%d", o.retries), fmt.Sprintf("/W:%d", int(o.wait.Seconds())))
	return strings.Join(words, " ")
}
