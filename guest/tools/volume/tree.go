package volume

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/wildcard"
)

// deepest is how deep folders are followed.
const deepest = 256

// drawing is a tree while it is drawn.
type drawing struct {
	e     program.Env
	files bool
	// branch and last begin the line of a folder, line and blank those of what is below it.
	branch, last, line, blank string
}

// Tree is tree.com (https://learn.microsoft.com/windows-server/administration/windows-commands/tree): /F names the
// files too, /A draws with letters that every code page has. A folder that is a link is named, and not followed.
func Tree(e program.Env, sys System, args []string) int {
	d := drawing{
		e:      e,
		branch: "├───",
		last:   "└───",
		line:   "│   ",
		blank:  "    ",
	}
	path := ""
	for _, arg := range args {
		switches, is := strings.CutPrefix(arg, "/")
		if !is {
			if path != "" {
				e.Complain("Too many parameters - %s", arg)
				return exitFailed
			}
			path = arg
			continue
		}

		for one := range strings.SplitSeq(switches, "/") {
			switch strings.ToLower(one) {
			case "f":
				d.files = true
			case "a":
				d.branch, d.last = "+---", `\---`
				d.line = "|   "
			case "?":
				e.Print("Graphically displays the folder structure of a drive or path.\r\n\r\n" +
					"TREE [drive:][path] [/F] [/A]\r\n\r\n" +
					"   /F   Display the names of the files in each folder.\r\n" +
					"   /A   Use ASCII instead of extended characters.\r\n")
				return exitDone
			default:
				e.Complain("Invalid switch - /%s", one)
				return exitFailed
			}
		}
	}
	return d.draw(sys, path)
}

// draw prints the head, and the tree below a folder; the current one if none is named.
func (d *drawing) draw(sys System, path string) int {
	folder, err := filepath.Abs(path)
	if err != nil {
		d.e.Complain("%s", words(err))
		return exitFailed
	}

	letter, root := drive(folder)
	v, err := sys.Volume(root)
	if err != nil {
		d.e.Complain("Invalid drive specification")
		return exitFailed
	}
	if v.Label != "" {
		d.e.Print("Folder PATH listing for volume %s", v.Label)
	} else {
		d.e.Print("Folder PATH listing")
	}
	d.e.Print("Volume serial number is %04X-%04X", v.Serial>>16, v.Serial&0xFFFF)

	head := letter + "."
	if path != "" {
		head = strings.ToUpper(folder)
	}
	d.e.Print("%s", head)

	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		below := folder[len(filepath.VolumeName(folder)):]
		d.e.Print("Invalid path - %s", strings.ToUpper(below))
		d.e.Print("No subfolders exist \r\n")
		return exitFailed
	}
	if !d.below(folder, "", 0) {
		d.e.Print("No subfolders exist \r\n")
	}
	return exitDone
}

// below draws what is in a folder, each line behind a prefix. It reports whether there are folders.
func (d *drawing) below(folder, prefix string, depth int) bool {
	if depth > deepest {
		return false
	}

	var folders, files []fs.DirEntry
	for _, entry := range wildcard.Entries(folder) { // one that may not be read shows nothing
		if entry.IsDir() || linksFolder(filepath.Join(folder, entry.Name()), entry) {
			folders = append(folders, entry)
		} else {
			files = append(files, entry)
		}
	}

	if d.files && len(files) > 0 {
		before := prefix + d.blank
		if len(folders) > 0 {
			before = prefix + d.line
		}
		for _, f := range files {
			d.e.Print("%s%s", before, f.Name())
		}
		d.e.Print("%s", before)
	}

	for i, f := range folders {
		start, rest := d.branch, d.line
		if i == len(folders)-1 {
			start, rest = d.last, d.blank
		}
		d.e.Print("%s%s%s", prefix, start, f.Name())
		if f.IsDir() {
			d.below(filepath.Join(folder, f.Name()), prefix+rest, depth+1)
		}
	}
	return len(folders) > 0
}

// linksFolder reports whether an entry is a link, or a junction, to a folder.
func linksFolder(path string, entry fs.DirEntry) bool {
	if entry.Type()&(fs.ModeSymlink|fs.ModeIrregular) == 0 {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
