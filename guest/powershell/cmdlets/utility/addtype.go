package utility

import (
	"path/filepath"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/words"
)

// noCompiler says what a person can do where code is to be compiled, or a library of .NET loaded: there is no .NET,
// whose compiler Windows PowerShell calls. PowerShell 7 brings its own.
const noCompiler = "Add-Type with code is " + words.NotHere + ": it needs .NET. Put PowerShell 7 (pwsh.exe) into the image, " +
	"and run the script by it."

// addType accepts the names of assemblies whose types may be here. Code is not compiled: the error is that of a
// compiler that fails, in the words of 5.1, with what to do, at the line that has the code
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.utility/add-type).
func addType(c *cmdlet.Call) error {
	for _, parameter := range []string{"typedefinition", "memberdefinition"} {
		if _, code := c.Values[parameter]; code {
			return notCompiled("Cannot add type. Compilation errors occurred. In Mullion: " + noCompiler)
		}
	}

	for _, parameter := range []string{cmdlet.PathName, cmdlet.LiteralName} {
		for v := range object.Each(c.Values[parameter]) {
			file := object.Text(v)
			switch strings.ToLower(filepath.Ext(file)) {
			case ".dll", ".exe":
				return object.Raise("System.IO.FileLoadException", "Could not load file or assembly '"+file+
					"' or one of its dependencies. In Mullion: "+noCompiler)
			case ".cs", ".vb", ".js":
				return notCompiled("Cannot add type. Compilation errors occurred. In Mullion: " + noCompiler)
			}
			return notCompiled("Cannot add type. The \"" + filepath.Ext(file) + "\" extension is not supported.")
		}
	}
	return nil
}

func notCompiled(message string) error {
	return &object.Exception{
		Class: "System.InvalidOperationException", ID: "COMPILER_ERRORS", Category: "InvalidData", Message: message,
	}
}

func addTypeCmdlet() cmdlet.Cmdlet {
	return cmdlet.Cmdlet{
		Name:  "Add-Type",
		About: "accepts the names of assemblies of .NET whose types may be here; code is an error that says what to do",
		Run:   addType,
		Values: []string{
			"assemblyname", "typedefinition", "memberdefinition", cmdlet.PathName, cmdlet.LiteralName, "name", "namespace",
			"usingnamespace", "language", "referencedassemblies",
		},
		Flags:     []string{"passthru", "ignorewarnings"},
		Positions: []string{"typedefinition"},
		Also:      map[string]string{"assembly": "assemblyname", "an": "assemblyname", "ns": "namespace", "using": "usingnamespace"},
		Needs:     []string{"assemblyname|typedefinition|memberdefinition|path"},
		Allowed:   map[string][]string{"assemblyname": assemblies()},
		Lacking:   map[string]string{"typedefinition": noCompiler, "memberdefinition": noCompiler},
	}
}
