package fileops

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mullion.dev/mullion/guest/cmdexe/disk"
	"mullion.dev/mullion/guest/cmdexe/wild"
)

// listing is what DIR was asked for.
type listing struct {
	e          *Env
	bare       bool
	below      bool
	lower      bool
	wide       bool
	noCommas   bool
	want, hide uint32 // attributes that a file has to have, or may not have
	order      string
	files      int
	folders    int
	bytes      int64
	listed     bool
	out        bytes.Buffer
}

// attribute returns the attribute that a letter stands for.
func attribute(letter byte) (uint32, bool) {
	switch letter {
	case 'd':
		return disk.Directory, true
	case 'r':
		return disk.ReadOnly, true
	case 'h':
		return disk.Hidden, true
	case 's':
		return disk.System, true
	case 'a':
		return disk.Archive, true
	case 'l':
		return disk.Link, true
	case 'i', 'o':
		return 0, true
	}

	return 0, false
}

// attributeFilter reads letters, perhaps with - before them.
func attributeFilter(text string) (want, hide uint32, ok bool) {
	text = strings.TrimPrefix(text, ":")
	for i := 0; i < len(text); i++ {
		not := text[i] == '-'
		if not {
			if i++; i == len(text) {
				return 0, 0, false
			}
		}

		bit, known := attribute(text[i])
		if !known {
			return 0, 0, false
		}
		if not {
			hide |= bit
		} else {
			want |= bit
		}
	}

	return want, hide, true
}

// read reads the switches; wrong is what is none.
func (l *listing) read(switches []string) (wrong string) {
	l.hide = disk.Hidden | disk.System
	for _, s := range switches {
		switch {
		case s == "b":
			l.bare = true
		case s == "s":
			l.below = true
		case s == "l":
			l.lower = true
		case s == "w" || s == "d":
			l.wide = true
		case s == "-c":
			l.noCommas = true
		case strings.HasPrefix(s, "a"):
			var ok bool
			if l.want, l.hide, ok = attributeFilter(s[1:]); !ok {
				return s
			}

		case strings.HasPrefix(s, "o"):
			l.order = strings.TrimPrefix(s[1:], ":")
			if l.order == "" {
				l.order = "gn"
			}
			if strings.Trim(l.order, "nsedg-") != "" {
				return s
			}

		case slices.Contains([]string{"c", "n", "p", "q", "x", "4", "r", "-n", "-p"}, s), strings.HasPrefix(s, "t"):
		default:
			return s
		}
	}

	return ""
}

func dir(e *Env, args string) int32 {
	switches, names := arguments(e.Default("DIRCMD") + " " + args)
	l := &listing{e: e}
	if wrong := l.read(switches); wrong != "" {
		return e.invalid(wrong)
	}
	if len(names) == 0 {
		names = []string{"."}
	}

	code := int32(0)
	volume := ""
	for _, name := range names {
		path := e.Full(name)
		if v := disk.Volume(path); !l.bare && !strings.EqualFold(v, volume) {
			volume = v
			e.volume(path)
		}
		if err := l.show(path); err != nil {
			_, _ = l.out.WriteTo(e.Out)
			code = e.fail(err)
		}
	}

	if !l.bare && l.listed {
		l.total(names)
	}
	_, _ = l.out.WriteTo(e.Out) // nobody reads it, else
	return code
}

// total prints the sums at the end.
func (l *listing) total(names []string) {
	if l.below {
		fmt.Fprintf(&l.out, "\r\n     Total Files Listed:\r\n%16d File(s) %14s bytes\r\n", l.files, l.number(l.bytes))
	}
	free := l.e.System.Free(disk.Volume(l.e.Full(names[0])) + `\`)
	fmt.Fprintf(&l.out, "%16d Dir(s) %15s bytes free\r\n", l.folders, l.number(int64(min(free, 1<<62))))
}

// number returns a number with commas.
func (l *listing) number(n int64) string {
	text := strconv.FormatInt(n, 10)
	if l.noCommas {
		return text
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// show lists what a path means: a folder, or files by a pattern.
func (l *listing) show(path string) error {
	folder, pattern := path, "*"
	if !l.e.Disk.IsFolder(path) {
		folder, pattern = disk.Split(path)
		if disk.Device(path) != "" {
			return disk.FileNotFound
		}
	}
	if !l.e.Disk.IsFolder(folder) {
		return notFound(l, folder)
	}

	any, err := l.folder(strings.TrimRight(folder, `\`), pattern, 0)
	if err != nil {
		return err
	}
	if !any {
		return errNotFound{}
	}

	return nil
}

// errNotFound is DIR's own way to say that there is nothing.
type errNotFound struct{}

func (errNotFound) Error() string { return "File Not Found" }

func notFound(l *listing, folder string) error {
	if l.bare || strings.HasPrefix(folder, `\\`) {
		if up, _ := disk.Split(strings.TrimRight(folder, `\`)); l.e.Disk.IsFolder(up) {
			return errNotFound{}
		}
	}
	return disk.PathNotFound
}

// deepest is how deep folders are followed.
const deepest = 256

// folder lists a folder, and those below it.
func (l *listing) folder(folder, pattern string, depth int) (bool, error) {
	all, err := l.e.Disk.List(folder + `\`)
	if err != nil {
		if depth > 0 { // one that may not be read
			return false, nil
		}
		return false, err
	}

	shown := l.selfAndParent(folder, pattern)
	start := len(shown)
	for _, i := range all {
		if wild.Match(pattern, i.Name) && i.Attributes&l.want == l.want && i.Attributes&l.hide == 0 {
			shown = append(shown, i)
		}
	}

	l.sort(shown[start:])
	any := len(shown) > 0
	if any {
		l.list(folder, shown)
	}
	more, err := l.children(folder, pattern, all, depth)
	return any || more, err
}

// selfAndParent are . and .., which are shown in every folder but a drive's own.
func (l *listing) selfAndParent(folder, pattern string) []disk.Info {
	hidden := l.bare || l.want&^disk.Directory != 0 || l.hide&disk.Directory != 0
	if hidden || !wild.Match(pattern, ".") || !strings.Contains(folder, `\`) {
		return nil
	}
	self, _ := l.e.Disk.Stat(folder)
	up, _ := disk.Split(folder)
	parent, _ := l.e.Disk.Stat(up)
	self.Name, parent.Name = ".", ".."
	self.Attributes, parent.Attributes = disk.Directory, disk.Directory
	return []disk.Info{self, parent}
}

// children lists the folders below a folder, with /s.
func (l *listing) children(folder, pattern string, all []disk.Info, depth int) (any bool, err error) {
	if !l.below || depth >= deepest || l.e.Stopped() {
		return false, nil
	}

	for _, i := range all {
		if i.Folder() && i.Attributes&disk.Link == 0 {
			more, err := l.folder(folder+`\`+i.Name, pattern, depth+1)
			if err != nil {
				return any, err
			}
			any = any || more
		}
	}

	return any, nil
}

// sort sorts as /o says. Names come sorted from the disk.
func (l *listing) sort(files []disk.Info) {
	if l.order == "" {
		return
	}

	slices.SortStableFunc(files, func(a, b disk.Info) int {
		sign := 1
		for i := range len(l.order) {
			how := 0
			switch l.order[i] {
			case '-':
				sign = -1
				continue

			case 'n':
				how = strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
			case 'e':
				how = strings.Compare(ending(a.Name), ending(b.Name))
			case 's':
				how = cmp.Compare(a.Size, b.Size)
			case 'd':
				how = a.Modified.Compare(b.Modified)
			case 'g':
				how = cmp.Compare(b.Attributes&disk.Directory, a.Attributes&disk.Directory)
			}

			if how != 0 {
				return how * sign
			}
			sign = 1
		}

		return 0
	})
}

func ending(name string) string {
	_, end, _ := strings.Cut(strings.ToLower(name), ".")
	return end
}

// list prints the files of one folder.
func (l *listing) list(folder string, files []disk.Info) {
	if l.bare {
		for _, i := range files {
			name := i.Name
			if l.below {
				name = folder + `\` + name
			}
			fmt.Fprintf(&l.out, "%s\r\n", l.letters(name))
		}
		return
	}

	l.listed = true
	where := folder
	if !strings.Contains(where, `\`) {
		where += `\`
	}

	fmt.Fprintf(&l.out, "\r\n Directory of %s\r\n\r\n", where)
	count, size := 0, int64(0)
	for n, i := range files {
		if i.Folder() {
			l.folders++
		} else {
			count++
			size += i.Size
		}

		if l.wide {
			name := i.Name
			if i.Folder() {
				name = "[" + name + "]"
			}
			fmt.Fprintf(&l.out, "%-19s ", l.letters(name))
			if n%4 == 3 || n == len(files)-1 {
				fmt.Fprint(&l.out, "\r\n")
			}
			continue
		}

		l.line(folder, i)
	}

	fmt.Fprintf(&l.out, "%16d File(s) %14s bytes\r\n", count, l.number(size))
	l.files += count
	l.bytes += size
}

func (l *listing) letters(name string) string {
	if l.lower {
		return strings.ToLower(name)
	}
	return name
}

// line prints one file with its date.
func (l *listing) line(folder string, i disk.Info) {
	when := i.Modified.Format("01/02/2006  03:04 PM")
	name := l.letters(i.Name)
	switch link := i.Attributes&disk.Link != 0; {
	case link && i.Junction:
		fmt.Fprintf(&l.out, "%s    <JUNCTION>     %s [%s]\r\n", when, name, l.e.Disk.Target(folder+`\`+i.Name))
	case link && i.Folder():
		fmt.Fprintf(&l.out, "%s    <SYMLINKD>     %s [%s]\r\n", when, name, l.e.Disk.Target(folder+`\`+i.Name))
	case link:
		fmt.Fprintf(&l.out, "%s    <SYMLINK>      %s [%s]\r\n", when, name, l.e.Disk.Target(folder+`\`+i.Name))
	case i.Folder():
		fmt.Fprintf(&l.out, "%s    <DIR>          %s\r\n", when, name)
	default:
		fmt.Fprintf(&l.out, "%s %17s %s\r\n", when, l.number(i.Size), name)
	}
}
