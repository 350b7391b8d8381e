package tar

import (
	"path"
	"strconv"
	"strings"
)

// What a run does.
const (
	modeCreate  = 'c'
	modeExtract = 'x'
	modeList    = 't'
	modeHelp    = 'h'
	modeVersion = 'V'
)

// Kinds of archives that can be made.
const (
	formatTar = ""
	formatZip = "zip"
)

// How an archive is compressed that is made.
const (
	plain = ""
	gz    = "gzip"
	zstd  = "zstd"
)

const usage = `tar(bsdtar): manipulate archive files
First option must be a mode specifier:
  -c Create  -t List  -x Extract
Common Options:
  -f <filename>  Location of archive, - for standard input and output
  -v    Verbose
  -C <dir>       Change to <dir> before processing the files that follow
Create: tar -c [options] [<file> | <dir> | -C <dir> ]
  <file>, <dir>  add these items to archive
  -a    Choose format and compression by the name of the archive (.tar.gz, .tgz, .tar.zst, .zip)
  -z, --zstd     Compress archive with gzip, zstd
  --format {ustar|pax|gnutar|zip}  Select archive format
  --exclude <pattern>  Skip files that match pattern
List: tar -t [options] [<patterns>]
Extract: tar -x [options] [<patterns>]
  <patterns>     If specified, only entries that match
  -k    Keep (don't overwrite) existing files
  -m    Don't restore modification times
  -O    Write entries to stdout, don't restore to disk
  --strip-components <n>  Remove the first <n> parts of names
The archive may be compressed with gzip, bzip2 or zstd, and may be a zip archive.
`

// operand is a file that goes into an archive, or a pattern of what comes out of it. dir is the folder of the last -C
// before it.
type operand struct{ dir, name string }

// command is what the arguments ask for.
type command struct {
	mode     rune
	file     string
	format   string
	compress string
	// byName is -a: the archive's name chooses format and compression.
	byName                       bool
	verbose, keep, touch, stdout bool
	strip                        int
	excluded                     []string
	operands                     []operand
	dir                          string
}

// tape is the archive that Windows' tar takes if no -f names one.
const tape = `\\.\tape0`

const errOneMode = message("Must specify one of -c, -t, -x")

// option is one option: its letter, its long names, whether it has a value, and what it does.
type option struct {
	letter rune
	names  []string
	value  bool
	do     func(c *command, value string) error
}

func flag(letter rune, set func(*command) *bool, names ...string) option {
	return option{letter, names, false, func(c *command, _ string) error {
		*set(c) = true
		return nil
	}}
}

func mode(letter rune, names ...string) option {
	return option{letter, names, false, func(c *command, _ string) error {
		if c.mode != 0 && c.mode != letter {
			return says("Can't specify both -%c and -%c", letter, c.mode)
		}
		c.mode = letter
		return nil
	}}
}

func compressor(letter rune, name string, names ...string) option {
	return option{letter, names, false, func(c *command, _ string) error {
		c.compress = name
		return nil
	}}
}

// nothing returns an option without effect here: who owns what, and which rights it has, is Windows' to say.
func nothing(letter rune, names ...string) option {
	return option{letter, names, false, func(*command, string) error { return nil }}
}

func options() []option {
	return []option{
		mode(modeCreate, "create"), mode(modeExtract, "extract", "get"), mode(modeList, "list"),
		mode(modeHelp, "help"),
		{0, []string{"version"}, false, func(c *command, _ string) error {
			c.mode = modeVersion
			return nil
		}},
		{'f', []string{"file"}, true, func(c *command, v string) error {
			c.file = v
			return nil
		}},
		{'C', []string{"cd", "directory"}, true, func(c *command, v string) error {
			if c.dir == "" || rooted(v) {
				c.dir = v
			} else {
				c.dir += "/" + v
			}
			return nil
		}},
		{0, []string{"format"}, true, func(c *command, v string) error {
			switch v {
			case "ustar", "pax", "gnutar", "posix":
				c.format = formatTar
			case formatZip:
				c.format = formatZip
			default:
				return says("Can't use format %s: Unknown format", v)
			}

			return nil
		}},
		{0, []string{"strip-components"}, true, func(c *command, v string) error {
			n, err := strconv.Atoi(v)
			if err != nil || n < 0 {
				return says("Invalid argument to --strip-components: %s", v)
			}
			c.strip = n
			return nil
		}},
		{0, []string{"exclude"}, true, func(c *command, v string) error {
			c.excluded = append(c.excluded, strings.TrimRight(slashes(v), "/"))
			return nil
		}},
		{'b', []string{"block-size"}, true, func(*command, string) error { return nil }},
		flag('v', func(c *command) *bool { return &c.verbose }, "verbose"),
		flag('k', func(c *command) *bool { return &c.keep }, "keep-old-files"),
		flag('m', func(c *command) *bool { return &c.touch }, "modification-time", "touch"),
		flag('O', func(c *command) *bool { return &c.stdout }, "to-stdout"),
		flag('a', func(c *command) *bool { return &c.byName }, "auto-compress"),
		compressor('z', gz, "gzip", "gunzip"), compressor(0, zstd, "zstd"),
		nothing('p', "preserve-permissions", "same-permissions"), nothing('o', "no-same-owner"),
		nothing(0, "no-same-permissions"), nothing(0, "numeric-owner"), nothing('B', "read-full-blocks"),
	}
}

// parse reads the arguments. The first may be letters without a dash, each of whose values is an argument of its own.
func parse(args []string) (command, error) {
	var c command
	args, err := c.bundle(args)
	if err != nil {
		return c, err
	}

	for len(args) > 0 {
		if args, err = c.argument(args); err != nil {
			return c, err
		}
	}

	if c.mode == 0 {
		return c, errOneMode
	}
	if c.mode == modeCreate && len(c.operands) == 0 {
		return c, says("no files or directories specified")
	}
	if c.file == "" {
		c.file = tape
	}

	if c.byName && c.mode == modeCreate {
		c.choose()
	}
	return c, nil
}

// bundle reads letters without a dash, if the first argument is such, and returns the rest.
func (c *command) bundle(args []string) ([]string, error) {
	if len(args) == 0 || args[0] == "" || args[0][0] == '-' {
		return args, nil
	}

	rest := args[1:]
	for _, letter := range args[0] {
		o, err := byLetter(letter)
		if err != nil {
			return nil, err
		}

		value := ""
		if o.value {
			if len(rest) == 0 {
				return nil, says("Option %c requires an argument", letter)
			}
			value, rest = rest[0], rest[1:]
		}

		if err := o.do(c, value); err != nil {
			return nil, err
		}
	}

	return rest, nil
}

// argument reads one argument, with what belongs to it, and returns the rest.
func (c *command) argument(args []string) ([]string, error) {
	arg, rest := args[0], args[1:]
	if long, is := strings.CutPrefix(arg, "--"); is && long != "" {
		return c.long(long, rest)
	}

	if len(arg) < 2 || arg[0] != '-' || arg == "--" {
		if arg == "--" {
			for _, name := range rest {
				c.operands = append(c.operands, operand{c.dir, name})
			}
			return nil, nil
		}
		c.operands = append(c.operands, operand{c.dir, arg})
		return rest, nil
	}

	letters := []rune(arg[1:])
	for i, letter := range letters {
		o, err := byLetter(letter)
		if err != nil {
			return nil, err
		}

		if !o.value {
			if err := o.do(c, ""); err != nil {
				return nil, err
			}
			continue
		}

		value := string(letters[i+1:])
		if value == "" {
			if len(rest) == 0 {
				return nil, says("Option -%c requires an argument", letter)
			}
			value, rest = rest[0], rest[1:]
		}

		return rest, o.do(c, value)
	}

	return rest, nil
}

func (c *command) long(name string, rest []string) ([]string, error) {
	name, value, given := strings.Cut(name, "=")
	for _, o := range options() {
		for _, n := range o.names {
			if n != name {
				continue
			}

			switch {
			case !o.value && given:
				return nil, says("Option --%s does not allow an argument", name)
			case o.value && !given:
				if len(rest) == 0 {
					return nil, says("Option --%s requires an argument", name)
				}
				value, rest = rest[0], rest[1:]
			}

			return rest, o.do(c, value)
		}
	}

	return nil, says("Option --%s is not supported", name)
}

func byLetter(letter rune) (option, error) {
	for _, o := range options() {
		if o.letter == letter && letter != 0 {
			return o, nil
		}
	}
	return option{}, says("Option -%c is not supported", letter)
}

// choose is -a: the archive's name says what it becomes.
func (c *command) choose() {
	switch name := strings.ToLower(slashes(c.file)); {
	case strings.HasSuffix(name, ".tar.gz"), strings.HasSuffix(name, ".tgz"):
		c.compress = gz
	case strings.HasSuffix(name, ".tar.zst"), strings.HasSuffix(name, ".tzst"):
		c.compress = zstd
	case strings.HasSuffix(name, ".zip"):
		c.format = formatZip
	}
}

// excludes reports whether a pattern of --exclude fits a name, one of its ends after a slash, or a folder above it.
func (c *command) excludes(name string) bool {
	for _, pattern := range c.excluded {
		for part := strings.Trim(name, "/"); ; {
			for upper := part; upper != "." && upper != "/"; upper = path.Dir(upper) {
				if ok, err := path.Match(pattern, upper); ok || (err != nil && pattern == upper) {
					return true
				}
			}

			_, after, more := strings.Cut(part, "/")
			if !more {
				break
			}
			part = after
		}
	}

	return false
}
