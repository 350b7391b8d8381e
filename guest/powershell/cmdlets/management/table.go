package management

import (
	"slices"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/provider"
)

// Cmdlets returns the cmdlets of this package.
func Cmdlets() []cmdlet.Cmdlet {
	return withWhatIf(slices.Concat(
		fileCmdlets(),
		itemCmdlets(),
		placeCmdlets(),
		pathCmdlets(),
		registryCmdlets(),
		serviceCmdlets(),
		processCmdlets(),
		computerCmdlets(),
		zoneCmdlets(),
		driveCmdlets(),
		connectionCmdlets(),
		updateCmdlets(),
	))
}

func fileCmdlets() []cmdlet.Cmdlet {
	write := []string{"force", "nonewline"}
	return []cmdlet.Cmdlet{
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:     "Get-Content",
			Sessions: true,
			Wild:     true,
			Aliases:  []string{"cat", "gc", "type"},
			About: "the lines of files, UTF-8 or UTF-16 by their mark, or as -Encoding says; -Wait follows a file, also one " +
				"that is emptied or replaced",
			Run:     getContent,
			Values:  []string{"totalcount", "tail", "encoding", "readcount"},
			Also:    map[string]string{"head": "totalcount", "first": "totalcount", "last": "tail"},
			Flags:   []string{"raw", "wait", "force"},
			Needs:   []string{cmdlet.PathName},
			Allowed: map[string][]string{"encoding": contentEncodings()},
		}),
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:      "Set-Content",
			Wild:      true,
			About:     "writes a file, UTF-8 without a mark, or as -Encoding says",
			Run:       setContent,
			Values:    []string{"value", "encoding"},
			Flags:     write,
			Positions: []string{"value"},
			Takes:     "value",
			Needs:     []string{cmdlet.PathName, "value"},
			Allowed:   map[string][]string{"encoding": contentEncodings()},
		}),
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:      "Add-Content",
			Wild:      true,
			Aliases:   []string{"ac"},
			About:     "adds to a file, UTF-8 without a mark, or as -Encoding says",
			Run:       addContent,
			Values:    []string{"value", "encoding"},
			Flags:     write,
			Positions: []string{"value"},
			Takes:     "value",
			Needs:     []string{cmdlet.PathName, "value"},
			Allowed:   map[string][]string{"encoding": contentEncodings()},
		}),
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:    "Clear-Content",
			Aliases: []string{"clc"},
			Wild:    true,
			About:   "empties files",
			Run:     clearContent,
			Flags:   []string{"force"},
			Needs:   []string{cmdlet.PathName},
		}),
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:          "Set-Item",
			Aliases:       []string{"si"},
			Sessions:      true,
			ManyVariables: true,
			About:         "sets a variable of the environment, a variable, a function or an alias",
			Run:           setItem,
			Values:        []string{"value"},
			Positions:     []string{"value"},
			Takes:         "value",
			Flags:         []string{"force"},
			Needs:         []string{cmdlet.PathName},
		}),
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:      "Copy-Item",
			Wild:      true,
			Aliases:   []string{"cp", "copy", "cpi"},
			About:     "copies files and folders",
			Run:       copyItem,
			Values:    []string{"destination", "filter", "include", "exclude"},
			Flags:     []string{"force", "recurse", "passthru", "container"},
			Positions: []string{"destination"},
			Needs:     []string{cmdlet.PathName},
		}),
		{
			Name:      "Out-File",
			About:     "writes what would be shown to a file, UTF-16 with a mark (as pwsh.exe: UTF-8 without), or as -Encoding says",
			Run:       outFile,
			Values:    []string{"filepath", cmdlet.ObjectName, "encoding"},
			Flags:     []string{"append", "force", "nonewline"},
			Positions: []string{"filepath", "encoding"},
			Takes:     cmdlet.ObjectName,
			Needs:     []string{"filepath", cmdlet.ObjectName},
			Allowed:   map[string][]string{"encoding": provider.ShownEncodings()},
		},
	}
}

func itemCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:          "Get-ChildItem",
			Certificates:  true,
			Sessions:      true,
			Wild:          true,
			Keys:          []string{"name", "recurse", "force"},
			ManyVariables: true,
			Aliases:       []string{"ls", "dir", "gci"},
			Run:           getChildItem,
			Values:        []string{"filter", "include", "exclude", "depth", "attributes"},
			Flags:         []string{"force", "name", "recurse", "file", "directory", "hidden", "readonly", "system"},
			Also: map[string]string{
				"ad": "directory", "af": "file", "ah": "hidden", "ar": "readonly", "as": "system", "s": "recurse",
			},
			About: "what is in a folder and its folders, or files",
		}),
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:          "Get-Item",
			Certificates:  true,
			Sessions:      true,
			Wild:          true,
			Keys:          []string{"force"},
			ManyVariables: true,
			Aliases:       []string{"gi"},
			Run:           getItem,
			About:         "a file, a folder or a link, with LinkType and Target",
			Flags:         []string{"force"},
			Needs:         []string{cmdlet.PathName},
		}),
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:          "Test-Path",
			Certificates:  true,
			Sessions:      true,
			Wild:          true,
			Keys:          []string{},
			ManyVariables: true,
			About:         "whether a path is there",
			Run:           testPath,
			Values:        []string{"pathtype"},
			Needs:         []string{cmdlet.PathName},
			Allowed:       map[string][]string{"pathtype": {"any", "leaf", "container"}},
		}),
		{
			Name:      "New-Item",
			Keys:      []string{"name", "itemtype", "type", "value", "force"},
			Aliases:   []string{"ni"},
			About:     "a new file, folder, symbolic link, junction or hard link, or a key of the registry",
			Run:       newItem,
			Values:    []string{cmdlet.PathName, "name", "itemtype", "type", "value"},
			Also:      map[string]string{"target": "value"},
			Flags:     []string{"force"},
			Positions: []string{cmdlet.PathName},
			Takes:     "value",
			Needs:     []string{cmdlet.PathName + "|name"},
			Allowed: map[string][]string{
				"itemtype": itemTypes, "type": itemTypes,
			},
		},
		{
			Name:      "mkdir",
			Aliases:   []string{"md"},
			About:     "a new folder",
			Run:       makeFolder,
			Values:    []string{cmdlet.PathName},
			Flags:     []string{"force"},
			Positions: []string{cmdlet.PathName},
			Takes:     cmdlet.PathName,
			Needs:     []string{cmdlet.PathName},
		},
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:         "Remove-Item",
			Certificates: true,
			Sessions:     true,
			Wild:         true,
			Keys:         []string{"recurse", "force"},
			Variables:    true,
			Aliases:      []string{"rm", "del", "ri", "erase", "rd", "rmdir"},
			Run:          removeItem,
			About:        "removes files and folders",
			Flags:        []string{"force", "recurse"},
			Needs:        []string{cmdlet.PathName},
		}),
	}
}
