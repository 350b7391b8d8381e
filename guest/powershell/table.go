package powershell

import "slices"

// The names of parameters that several cmdlets have.
const (
	pathName    = "path"
	literalName = "literalpath"
	objectName  = "inputobject"
	messageName = "message"
)

// cmdlets are all implemented cmdlets.
func cmdlets() []cmdlet {
	return slices.Concat(outputCmdlets(), pipelineCmdlets(), fileCmdlets(), itemCmdlets(), otherCmdlets(), hnsCmdlets(),
		computeCmdlets(),
		networkCmdlets(), sortingCmdlets(), textCmdlets(), internetCmdlets(), dnsCmdlets(), routeCmdlets(),
		interfaceCmdlets(), smbCmdlets(), storageCmdlets(), iscsiCmdlets(),
		firewallCmdlets(),
		serviceCmdlets(), pathCmdlets(), formatCmdlets(), commandCmdlets(), processCmdlets(), moduleCmdlets(),
		registryCmdlets(), archiveCmdlets(), jobCmdlets(), variableCmdlets(), everydayCmdlets(), wmiCmdlets(),
		eventCmdlets(), computerCmdlets(), zoneCmdlets())
}

// ofPath adds the parameters that every cmdlet for paths has.
func ofPath(c cmdlet) cmdlet {
	c.values = append([]string{pathName, literalName}, c.values...)
	c.positions = append([]string{pathName}, c.positions...)
	if c.takes == "" {
		c.takes = pathName
	}
	return c
}

// ofMessage adds the parameters that every cmdlet for messages has.
func ofMessage(c cmdlet) cmdlet {
	c.values = []string{messageName}
	c.positions = c.values
	c.takes = messageName
	c.needs = c.values
	c.stream = true
	return c
}

func outputCmdlets() []cmdlet {
	return []cmdlet{
		{
			name:      "Write-Output",
			aliases:   []string{"echo", "write"},
			about:     "gives its arguments",
			run:       writeOutput,
			values:    []string{objectName},
			positions: []string{objectName},
			rest:      true,
			takes:     objectName,
			needs:     []string{objectName},
			stream:    true,
		},
		{
			name:      "Write-Host",
			about:     "prints its arguments; colours are not shown",
			run:       writeHost,
			values:    []string{"object", "separator", "foregroundcolor", "backgroundcolor"},
			allowed:   map[string][]string{"foregroundcolor": colours(), "backgroundcolor": colours()},
			flags:     []string{"nonewline"},
			positions: []string{"object"},
			rest:      true,
			takes:     "object",
			stream:    true,
		},
		ofMessage(cmdlet{name: "Write-Error", about: "prints an error", run: writeError}),
		ofMessage(cmdlet{
			name:  "Write-Debug",
			about: "prints what $DebugPreference lets it",
			run:   writes("debug", "DEBUG"),
		}),
		ofMessage(cmdlet{
			name:  "Write-Verbose",
			flags: []string{"verbose"},
			about: "prints what $VerbosePreference or -Verbose lets it",
			run:   writes("verbose", "VERBOSE"),
		}),
		ofMessage(cmdlet{
			name:  "Write-Warning",
			about: "prints a warning, unless $WarningPreference keeps it",
			run:   writes("warning", "WARNING"),
		}),
		{
			name:   "Out-Null",
			about:  "takes everything",
			run:    func(*call) error { return nil },
			values: []string{objectName},
			takes:  objectName,
			stream: true,
		},
		{
			name:   "Out-String",
			about:  "one string of what would be shown, or with -Stream one of each line",
			run:    outString,
			values: []string{objectName, "width"},
			flags:  []string{"stream"},
			takes:  objectName,
			needs:  []string{objectName},
		},
		{
			name:      "Out-File",
			about:     "writes what would be shown to a file, UTF-8",
			run:       outFile,
			values:    []string{"filepath", objectName, "encoding"},
			flags:     []string{"append", "force", "nonewline"},
			positions: []string{"filepath", "encoding"},
			takes:     objectName,
			needs:     []string{"filepath", objectName},
			allowed:   map[string][]string{"encoding": {"utf8", "utf8nobom", "ascii", "default", "oem"}},
		},
	}
}

// colours are the names of the console's colours.
func colours() []string {
	return []string{
		"black", "darkblue", "darkgreen", "darkcyan", "darkred", "darkmagenta", "darkyellow", "gray", "darkgray", "blue",
		"green", "cyan", "red", "magenta", "yellow", "white",
	}
}

func pipelineCmdlets() []cmdlet {
	return []cmdlet{
		{
			name:      "Where-Object",
			aliases:   []string{"where", "?"},
			run:       whereObject,
			about:     "picks with a script block, or by a property: Name -eq value",
			values:    append(comparisons(), "filterscript", "property"),
			positions: []string{"filterscript"},
			takes:     objectName,
			needs:     []string{"filterscript|property"},
			stream:    true,
		},
		{
			name:      "ForEach-Object",
			aliases:   []string{"%", "foreach"},
			about:     "a script block for each, or a property or method of it",
			run:       forEachObject,
			values:    []string{"process"},
			positions: []string{"process"},
			takes:     objectName,
			needs:     []string{"process"},
			stream:    true,
		},
		{
			name:      "Select-Object",
			aliases:   []string{"select"},
			run:       selectObject,
			about:     "the first, last or different objects, or properties of them",
			values:    []string{"property", "first", "last", "skip", "expandproperty"},
			flags:     []string{"unique"},
			positions: []string{"property"},
			takes:     objectName,
		},
		{
			name:      "ConvertFrom-Json",
			about:     "objects of a text; dates stay text",
			run:       convertFromJSON,
			values:    []string{objectName},
			positions: []string{objectName},
			takes:     objectName,
			needs:     []string{objectName},
		},
		{
			name:      "ConvertTo-Json",
			about:     "a text of objects",
			run:       convertToJSON,
			values:    []string{objectName, "depth"},
			flags:     []string{"compress"},
			positions: []string{objectName},
			takes:     objectName,
			needs:     []string{objectName},
		},
	}
}

func fileCmdlets() []cmdlet {
	write := []string{"force", "nonewline"}
	return []cmdlet{
		ofPath(cmdlet{
			name:    "Get-Content",
			aliases: []string{"cat", "gc", "type"},
			about:   "the lines of files, UTF-8 or UTF-16 by their mark, or as -Encoding says",
			run:     getContent,
			values:  []string{"totalcount", "tail", "encoding"},
			also:    map[string]string{"head": "totalcount", "first": "totalcount", "last": "tail"},
			flags:   []string{"raw"},
			needs:   []string{pathName},
			allowed: map[string][]string{"encoding": contentEncodings()},
		}),
		ofPath(cmdlet{
			name:      "Set-Content",
			about:     "writes a file, UTF-8 without a mark, or as -Encoding says",
			run:       setContent,
			values:    []string{"value", "encoding"},
			flags:     write,
			positions: []string{"value"},
			takes:     "value",
			needs:     []string{pathName, "value"},
			allowed:   map[string][]string{"encoding": contentEncodings()},
		}),
		ofPath(cmdlet{
			name:      "Add-Content",
			aliases:   []string{"ac"},
			about:     "adds to a file, UTF-8 without a mark, or as -Encoding says",
			run:       addContent,
			values:    []string{"value", "encoding"},
			flags:     write,
			positions: []string{"value"},
			takes:     "value",
			needs:     []string{pathName, "value"},
			allowed:   map[string][]string{"encoding": contentEncodings()},
		}),
		ofPath(cmdlet{
			name:      "Copy-Item",
			aliases:   []string{"cp", "copy", "cpi"},
			about:     "copies files and folders",
			run:       copyItem,
			values:    []string{"destination"},
			flags:     []string{"force", "recurse"},
			positions: []string{"destination"},
			needs:     []string{pathName},
		}),
	}
}

func itemCmdlets() []cmdlet {
	return []cmdlet{
		ofPath(cmdlet{
			name:    "Get-ChildItem",
			aliases: []string{"ls", "dir", "gci"},
			run:     getChildItem,
			values:  []string{"filter", "include", "exclude", "depth"},
			flags:   []string{"force", "name", "recurse", "file", "directory"},
			about:   "what is in a folder and its folders, or files; wild cards that match files",
		}),
		ofPath(cmdlet{
			name:    "Get-Item",
			aliases: []string{"gi"},
			run:     getItem,
			about:   "a file, a folder or a link, with LinkType and Target",
			flags:   []string{"force"},
			needs:   []string{pathName},
		}),
		ofPath(cmdlet{
			name:  "Get-Acl",
			run:   getACL,
			about: "the owner, group and access rules of a file or folder, without wild cards",
		}),
		ofPath(cmdlet{
			name:      "Set-Acl",
			run:       setACL,
			values:    []string{"aclobject"},
			positions: []string{"aclobject"},
			takes:     "aclobject|path",
			needs:     []string{"aclobject|path"},
			about:     "gives a file or folder the owner and the access rules of a descriptor of Get-Acl, without wild cards",
		}),
		ofPath(cmdlet{
			name:    "Test-Path",
			about:   "whether a path is there",
			run:     testPath,
			values:  []string{"pathtype"},
			needs:   []string{pathName},
			allowed: map[string][]string{"pathtype": {"any", "leaf", "container"}},
		}),
		{
			name:      "New-Item",
			aliases:   []string{"ni"},
			about:     "a new file, folder or symbolic link, or a key of the registry; no junctions and no hard links",
			run:       newItem,
			values:    []string{pathName, "name", "itemtype", "type", "value"},
			also:      map[string]string{"target": "value"},
			flags:     []string{"force"},
			positions: []string{pathName},
			takes:     "value",
			needs:     []string{pathName + "|name"},
			allowed: map[string][]string{
				"itemtype": {"file", "directory", symbolicLink}, "type": {"file", "directory", symbolicLink},
			},
		},
		{
			name:      "mkdir",
			aliases:   []string{"md"},
			about:     "a new folder",
			run:       makeFolder,
			values:    []string{pathName},
			flags:     []string{"force"},
			positions: []string{pathName},
			takes:     pathName,
			needs:     []string{pathName},
		},
		ofPath(cmdlet{
			name:    "Remove-Item",
			aliases: []string{"rm", "del", "ri", "erase", "rd", "rmdir"},
			run:     removeItem,
			about:   "removes files and folders",
			flags:   []string{"force", "recurse"},
			needs:   []string{pathName},
		}),
		{name: "Get-Location", aliases: []string{"pwd", "gl"}, about: "the current folder", run: getLocation},
		ofPath(cmdlet{
			name:    "Set-Location",
			aliases: []string{"cd", "sl"},
			about:   "changes the current folder",
			run:     setLocation,
			needs:   []string{pathName},
		}),
	}
}

func otherCmdlets() []cmdlet {
	return []cmdlet{
		{
			name:      "Start-Sleep",
			aliases:   []string{"sleep"},
			about:     "waits",
			run:       startSleep,
			values:    []string{"seconds", "milliseconds"},
			positions: []string{"seconds"},
			needs:     []string{"seconds|milliseconds"},
		},
		{
			name:      "New-Object",
			about:     "an object of one of the types that are here, or one with any properties",
			run:       newObjectCmdlet,
			values:    []string{"typename", "argumentlist", "property"},
			also:      map[string]string{"args": "argumentlist"},
			positions: []string{"typename", "argumentlist"},
			needs:     []string{"typename"},
		},
		{
			name:      "Invoke-Expression",
			aliases:   []string{"iex"},
			about:     "runs a text as a script, which is refused like one",
			run:       invokeExpression,
			values:    []string{"command"},
			positions: []string{"command"},
			takes:     "command",
			needs:     []string{"command"},
		},
		{
			name:      "Get-Process",
			aliases:   []string{"ps", "gps"},
			run:       getProcess,
			about:     "processes, with Id and ProcessName only",
			values:    []string{"name", "id"},
			positions: []string{"name"},
		},
	}
}
