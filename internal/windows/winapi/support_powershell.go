package winapi

import "mullion.dev/mullion/internal/base/support"

// powershellRows are what powershell.exe and pwsh.exe have.
func powershellRows() []support.Row {
	return []support.Row{
		{
			Name:  "Windows PowerShell, PowerShell: the language",
			Level: support.Partly,
			Ref:   "https://learn.microsoft.com/powershell/",
			Note: "powershell.exe and pwsh.exe are Mullion's own (pwsh.exe runs the one that an image brings, in " +
				"Program Files or on the PATH, if there is one) and run a part of the language of Windows PowerShell " +
				"5.1: variables with $global:, $script: and $local:, strings, lists, hash tables, objects with " +
				"properties, operators with -f, -is and splatting, if, switch, while, do, for, foreach, functions " +
				"with begin, process and end, parameters of the pipeline, parameter sets, -WhatIf and -Confirm, $PSCmdlet, filters, try, catch, trap, throw, $Error " +
				"with its calls (ScriptStackTrace), category and FullyQualifiedErrorId, errors shown as 5.1 shows them, redirections of all streams, " +
				"strict mode, classes and enumerations, dynamic parameters, [ref], labels of loops, pipelines, script files, also in this scope (. file), " +
				"modules of files, with manifests, native " +
				"programs, and a prompt. Only a text that cannot be read is refused before it runs, with its line and " +
				"column. What else a script needs and is not here (another cmdlet, alias or parameter; another " +
				"variable of PowerShell's own; wild cards in paths but for those of the cmdlets for files; other " +
				"types and members of .NET; bases of classes that are .NET's but for exceptions, data, workflow; most cmdlets that change something with -WhatIf) is an error " +
				"of the statement that needs it, when it is reached: try catches it, and its text says that it is " +
				"not part of Mullion's PowerShell. Of a command that is not found it is said that Windows has it, if it does. > and Out-File write " +
				"UTF-16 with a mark (pwsh.exe, and powershell.exe where an image's is PowerShell 6: UTF-8 without). Integers " +
				"have 64 bits, hash tables keep the order in which they were filled, a " +
				"function has all its input before its first process block. The prompt edits lines as PSReadLine " +
				"does, with completion by Tab of commands, parameters, their values, paths, variables, types and members, with colours and a " +
				"history that ends with the session: nothing that was typed goes to a file. Profiles are read. Actions of events run between " +
				"two statements, or while a script sleeps or waits",
		},
		{
			Name:  "Windows PowerShell, PowerShell: cmdlets",
			Level: support.Partly,
			Ref:   "https://learn.microsoft.com/powershell/",
			Note: "those that docs/compat/shells.md lists, with what each lacks of Windows' own (Get-Help shows the parameters that it has). " +
				"Import-Module takes " +
				"names of Windows' modules whose cmdlets are here, hns.psm1 (which must be there and is not run: the cmdlets here come in its " +
				"place), files of functions, manifests and folders of them. Cmdlets for items and their properties know the registry's HKLM: and " +
				"HKCU:, without wild cards; Test-Path, Get-ChildItem, Get-Item, Set-Item and Remove-Item know env:, alias:, function: and variable:; Get-ChildItem, Get-Item, Test-Path and Remove-Item know Cert:, whose stores are those of TLS clients, without private keys. Get-Counter reads the counters of pdh.dll. " +
				"Those for disks, partitions and volumes work on a host's data disks, those for iSCSI have the disks of targets as such; C: is a volume on no disk. Get-CimInstance and Get-WmiObject read Wine's WMI, and the command lines of processes from these. Nothing filters packets for the Windows Firewall: its rules can be made, listed and removed if they allow, and others are refused. Get-WinEvent has -LogName, -ProviderName, -MaxEvents, " +
				"-FilterHashtable, -FilterXPath, -ListLog, -ListProvider and -Oldest. Add-Type takes names of assemblies, and says of code what to do; " +
				"Windows' features are there or not by their services, and none can be added; Start-BitsTransfer fetches at once; local groups are those of net localgroup, and accounts those of net user, with which nobody can log on; " +
				"Receive-Job outputs lines of text. All have -ErrorAction, -ErrorVariable and -OutVariable, as functions with " +
				"CmdletBinding do; -Verbose and -Debug say nothing more, of -Confirm only -Confirm:$false is accepted",
		},
		{
			Name:  "Windows PowerShell, PowerShell: .NET",
			Level: support.Partly,
			Ref:   "https://learn.microsoft.com/powershell/",
			Note: "New-Object and [type]::Member of the classes that docs/compat/shells.md lists, each with the members that it has (Get-Member lists them too): those of " +
				"texts, numbers, times, collections, files, processes, the network, certificates, XML and access lists that scripts mostly use. An HttpListener speaks http only. A FileSystemWatcher with IncludeSubdirectories watches 64 of the folders that are there when it begins, tells of more by its event Error, and sees all that are made later",
		},
	}
}
