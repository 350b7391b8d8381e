// Package constructs owns the table of what PowerShell's language has, construct by construct, with the script of
// guest/powershell/testdata that shows it; docs/compat/shells.md prints it. A test holds that each script is there and
// has the construct in it. The rows for cmdlets and for classes of .NET are no part of it: their own tables are.
package constructs

import "mullion.dev/mullion/internal/base/support"

// Construct is one construct of the language.
type Construct struct {
	// Name is how it is written, or what it is called.
	Name string
	// Topic is the document about it, without about_.
	Topic string
	// Script is the script of guest/powershell/testdata that shows it, with its folder. Sign is a part of the construct
	// that the script has, in lower case.
	Script, Sign string
	// Partly says what differs from Windows PowerShell 5.1; "": nothing that is known.
	Partly string
}

// Row returns the row of the support table.
func (c Construct) Row(area string) support.Row {
	row := support.Row{
		Area:  area,
		Name:  c.Name,
		Level: support.Supported,
		Ref:   "https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_" + c.Topic,
		Note:  "test: " + c.Script,
	}
	if c.Partly != "" {
		row.Level = support.Partly
		row.Note = c.Partly + "; " + row.Note
	}
	return row
}

// All returns the constructs.
func All() []Construct {
	return []Construct{
		{"variables, $null, $true, $false", "Variables", "run/null_stays_nothing", "$null", ""},
		{"$global:, $script:, $local:, $private:", "Scopes", "run/named_scopes", "$script:", ""},
		{"$env:NAME", "Environment_Variables", "run/environment", "$env:", ""},
		{"automatic variables", "Automatic_Variables", "run/invocations", "$myinvocation", "one that is not here is an error of its statement"},
		{"preference variables", "Preference_Variables", "run/preferences", "preference", "those of transactions, of remoting and of logging change nothing"},
		{"profiles", "Profiles", "run/profiles", "$profile", "Get-Member and Select-Object * show none of the four properties of $PROFILE"},
		{"numbers, suffixes kb to pb, 0x", "Numeric_Literals", "run/numbers", "0x", "integers have 64 bits, decimal is floating"},
		{"casts to types of numbers", "Numeric_Literals", "run/numbers_of_32_bits", "[int]", ""},
		{"texts in \"\" and ''", "Quoting_Rules", "run/strings", "\"", ""},
		{"$(…) and $x in texts", "Quoting_Rules", "run/archives", "$(", ""},
		{"here-strings", "Quoting_Rules", "run/here_string", "@\"", ""},
		{"lists, @(), ranges", "Arrays", "run/arrays", "@(", ""},
		{"ranges of indexes, negative indexes", "Arrays", "run/ranges_indexed", "..", ""},
		{"hash tables", "Hash_Tables", "run/hash_tables", "@{", "they keep the order in which they were filled"},
		{"[ordered], [pscustomobject]", "Object_Creation", "run/ordered", "[ordered]", ""},
		{"arithmetic, + on texts, lists and tables", "Arithmetic_Operators", "run/arithmetic", "+", ""},
		{"-band, -bor, -bxor, -bnot, -shl, -shr", "Arithmetic_Operators", "run/bits_and_truth", "-band", ""},
		{"assignments, += and its kin", "Assignment_Operators", "run/assignments_as_values", "=", ""},
		{"several variables assigned at once", "Assignment_Operators", "run/several_assigned", ",", ""},
		{"-eq, -ne, -gt, -lt, -ge, -le, with c and i", "Comparison_Operators", "run/operators_with_case", "-ceq", ""},
		{"-like, -notlike", "Comparison_Operators", "run/like", "-like", ""},
		{"-match, $Matches", "Regular_Expressions", "run/match_groups", "-match", ""},
		{"-replace", "Comparison_Operators", "run/replace", "-replace", ""},
		{"-contains, -in", "Comparison_Operators", "run/comparisons", "-contains", ""},
		{"-split, -join, with one operand too", "Split", "run/split", "-split", ""},
		{"-f", "Operators", "run/composite", "-f", ""},
		{"-is, -isnot, -as", "Type_Operators", "run/enums", "-is", ""},
		{"-and, -or, -xor, -not, !", "Logical_Operators", "run/precedence", "-and", ""},
		{"members, static members, indexes", "Properties", "run/members", ".", ""},
		{"members of each item of a list", "Member-Access_Enumeration", "run/names_of_members", ".", ""},
		{".Where(), .ForEach()", "Arrays", "run/objects_inspected", ".foreach(", ""},
		{"if, elseif, else", "If", "run/elseif", "elseif", ""},
		{"switch with its options", "Switch", "run/switch", "switch", ""},
		{"switch -File", "Switch", "run/was_switch_file", "-file", ""},
		{"for, while, do while, do until", "For", "run/loops", "while", ""},
		{"foreach", "Foreach", "run/labels", "foreach", ""},
		{"break and continue with labels", "Break", "run/labels", "break", ""},
		{"functions and filters", "Functions", "run/function", "function", "a function has all its input before its first process block"},
		{"begin, process, end", "Functions_Advanced_Methods", "run/sections", "process", ""},
		{"parameters, defaults, types", "Functions_Advanced_Parameters", "run/attributes", "param(", "an attribute holds for the argument, not for what is assigned later"},
		{"[Parameter()], [Alias()], [Validate…()]", "Functions_Advanced_Parameters", "run/validation", "validate", ""},
		{"parameter sets", "Parameter_Sets", "run/parameter_sets", "parametersetname", ""},
		{"dynamic parameters", "Functions_Advanced_Parameters", "run/dynamic_parameters", "dynamicparam", ""},
		{"common parameters", "CommonParameters", "run/common_parameters_of_functions", "-erroraction", "-Verbose and -Debug of a cmdlet say nothing more"},
		{"SupportsShouldProcess, -WhatIf, -Confirm", "Functions_CmdletBindingAttribute", "run/what_if", "-whatif", "of cmdlets those for items, contents, processes, services, local accounts and the computer have -WhatIf; nobody is asked: -Confirm is refused, -Confirm:$false accepted"},
		{"$PSCmdlet", "Functions_CmdletBindingAttribute", "run/should_process", "$pscmdlet", ""},
		{"splatting", "Splatting", "run/splatting", "@", ""},
		{"script blocks, & and .", "Script_Blocks", "run/this_scope", ". {", ""},
		{"script files, $PSScriptRoot, $args", "Scripts", "run/script_files", ".ps1", ""},
		{"pipelines", "Pipelines", "run/pipeline", "|", ""},
		{"streams and their redirections", "Redirection", "run/redirection", ">", ""},
		{"2>&1, *>", "Redirection", "run/errors_merged", "2>&1", ""},
		{"try, catch with types, finally", "Try_Catch_Finally", "run/try", "finally", ""},
		{"trap", "Trap", "run/trap", "trap", ""},
		{"throw", "Throw", "run/throw", "throw", ""},
		{"$Error, error records", "Automatic_Variables", "run/error_records", "$error", ""},
		{"ScriptStackTrace", "Automatic_Variables", "run/stack_trace", "scriptstacktrace", ""},
		{"strict mode", "Automatic_Variables", "run/strict", "set-strictmode", ""},
		{"classes", "Classes", "run/classes", "class ", "bases are classes of the script and exceptions"},
		{"enumerations, [Flags()]", "Enum", "run/enums", "enum ", ""},
		{"[ref]", "Ref", "run/ref", "[ref]", ""},
		{"modules: psm1", "Modules", "run/modules", "import-module", ""},
		{"modules: manifests", "Module_Manifests", "run/module_manifest", ".psd1", ""},
		{"native programs, $LASTEXITCODE, $?", "Automatic_Variables", "run/native", "$lastexitcode", ""},
		{"--%, quoting for programs", "Parsing", "run/grammar", "--%", ""},
		{"comments, #Requires", "Comments", "run/comment", "#", "#Requires is not carried out"},
		{"lines that go on", "Parsing", "run/continued_lines", "`", ""},
		{"aliases", "Aliases", "run/commands", "alias", ""},
		{"drives env:, alias:, function:, variable:", "Providers", "run/session_drives", "function:", ""},
		{"drives HKLM:, HKCU:", "Registry_Provider", "run/registry_values", "hklm:", "without wild cards"},
		{"drive Cert:", "Certificate_Provider", "run/certificates", "cert:", "without private keys"},
		{"jobs", "Jobs", "run/jobs", "start-job", "what they give back has values and the properties of objects, without PSComputerName and RunspaceId"},
		{"events and their subscribers", "Automatic_Variables", "run/subscriptions", "register-", ""},
		{"transcripts", "Logging", "run/transcript", "start-transcript", ""},
		{"history", "History", "run/history", "get-history", "it ends with the session"},
		{"formatting of what is printed", "Format.ps1xml", "run/disks", "format-", "widths of columns differ, files of formats are not read"},
		{"[xml], XPath", "XML", "run/xml_documents", "[xml]", ""},
	}
}

// Absent returns what the language has on Windows and not here, each with what a script gets instead.
func Absent(area string) []support.Row {
	const about = "https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_"
	return []support.Row{
		{Area: area, Name: "workflow", Level: support.Not, Ref: "https://learn.microsoft.com/powershell/module/psworkflow/about/about_workflows", Note: "an error when it is reached"},
		{Area: area, Name: "data", Level: support.Not, Ref: about + "Data_Sections", Note: "an error when it is reached"},
		{Area: area, Name: "configuration (DSC)", Level: support.Not, Ref: "https://learn.microsoft.com/powershell/dsc/overview", Note: "a command that is not found"},
		{Area: area, Name: "remoting: Enter-PSSession, Invoke-Command -ComputerName", Level: support.Not, Ref: about + "Remote", Note: "an error when it is reached"},
		{Area: area, Name: "COM objects", Level: support.Not, Ref: "https://learn.microsoft.com/powershell/module/microsoft.powershell.utility/new-object", Note: "New-Object -ComObject is an error when it is reached"},
		{Area: area, Name: "Add-Type with code", Level: support.Partly, Ref: "https://learn.microsoft.com/powershell/module/microsoft.powershell.utility/add-type", Note: "declarations of C#: functions of libraries by [DllImport], constants, enumerations, structures; other code fails as with a compiler, and says what to do"},
	}
}
