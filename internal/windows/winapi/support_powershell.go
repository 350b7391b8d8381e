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
				"types and members of .NET; bases of classes that are .NET's but for exceptions, data, workflow; cmdlets that change something with -WhatIf) is an error " +
				"of the statement that needs it, when it is reached: try catches it, and its text says that it is " +
				"not part of Mullion's PowerShell. Of a command that is not found it is said that Windows has it, if it does. > and Out-File write " +
				"UTF-16 with a mark (pwsh.exe, and powershell.exe where an image's is PowerShell 6: UTF-8 without). Integers " +
				"have 64 bits, hash tables keep the order in which they were filled, hidden files are always shown, a " +
				"function has all its input before its first process block. The prompt edits lines as PSReadLine " +
				"does, with completion by Tab of commands, parameters, their values, paths, variables, types and members, with colours and a " +
				"history that ends with the session: nothing that was typed goes to a file, and there is no profile. Actions of events run between " +
				"two statements, or while a script sleeps or waits",
		},
		{
			Name:  "Windows PowerShell, PowerShell: cmdlets",
			Level: support.Partly,
			Ref:   "https://learn.microsoft.com/powershell/",
			Note: "these, with the parameters that Get-Help shows: Add-Content, Add-LocalGroupMember, Add-Member, " +
				"Add-PartitionAccessPath, Add-Type, Attach-HnsHostEndpoint, Clear-Content, Clear-Disk, Clear-EventLog, Clear-History, " +
				"Clear-Host, Clear-Variable, Compare-Object, Compress-Archive, Connect-IscsiTarget, Convert-Path, " +
				"ConvertFrom-Csv, ConvertFrom-Json, ConvertFrom-StringData, ConvertTo-Csv, ConvertTo-Json, " +
				"ConvertTo-SecureString, Copy-Item, Detach-HnsHostEndpoint, Disable-WindowsOptionalFeature, Disconnect-IscsiTarget, " +
				"Enable-WindowsOptionalFeature, Expand-Archive, Export-Certificate, Export-Csv, Export-ModuleMember, " +
				"ForEach-Object, Format-List, Format-Table, Format-Volume, Format-Wide, Get-Acl, Get-Alias, " +
				"Get-ChildItem, Get-CimInstance, Get-Command, Get-ComputeProcess, Get-ComputerInfo, Get-Content, " +
				"Get-Counter, Get-Culture, Get-Date, Get-Disk, Get-DnsClientServerAddress, Get-Event, Get-EventLog, " +
				"Get-EventSubscriber, Get-ExecutionPolicy, Get-FileHash, Get-Help, Get-History, Get-HnsEndpoint, " +
				"Get-HnsNetwork, Get-HnsPolicyList, Get-Host, Get-InitiatorPort, Get-IscsiConnection, " +
				"Get-IscsiSession, Get-IscsiTarget, Get-IscsiTargetPortal, Get-Item, Get-ItemProperty, " +
				"Get-ItemPropertyValue, Get-Job, Get-LocalGroup, Get-LocalGroupMember, Get-LocalUser, Get-Location, " +
				"Get-Member, Get-Module, Get-NetAdapter, Get-NetFirewallRule, Get-NetIPAddress, Get-NetIPInterface, " +
				"Get-NetRoute, Get-NetTCPConnection, Get-NetUDPEndpoint, Get-Partition, Get-PartitionSupportedSize, " +
				"Get-Process, Get-Random, Get-Service, Get-SmbGlobalMapping, Get-SmbMapping, Get-TimeZone, " +
				"Get-UICulture, Get-Unique, Get-Variable, Get-Volume, Get-WindowsFeature, " +
				"Get-WindowsOptionalFeature, Get-WinEvent, Get-WmiObject, Group-Object, Import-Certificate, " +
				"Import-Csv, Import-Module, Import-PowerShellDataFile, Initialize-Disk, Install-WindowsFeature, " +
				"Invoke-Command, Invoke-Expression, Invoke-History, Invoke-RestMethod, Invoke-WebRequest, Join-Path, " +
				"Measure-Command, Measure-Object, mkdir, Move-Item, New-Alias, New-Event, New-EventLog, New-Guid, " +
				"New-HnsEndpoint, New-HnsNetwork, New-IscsiTargetPortal, New-Item, New-ItemProperty, New-LocalGroup, New-NetFirewallRule, " +
				"New-NetRoute, New-Object, New-Partition, New-Service, New-SmbGlobalMapping, New-SmbMapping, " +
				"New-TemporaryFile, New-TimeSpan, New-Variable, Out-File, Out-Host, Out-Null, Out-String, " +
				"Pop-Location, Push-Location, Read-Host, Receive-Job, Register-EngineEvent, Register-IscsiSession, " +
				"Register-ObjectEvent, Remove-Event, Remove-HnsEndpoint, Remove-HnsNetwork, Remove-HnsPolicyList, " +
				"Remove-IscsiTargetPortal, Remove-Item, Remove-ItemProperty, Remove-Job, Remove-LocalGroup, " +
				"Remove-LocalGroupMember, Remove-Module, Remove-NetFirewallRule, Remove-NetRoute, Remove-Partition, " +
				"Remove-PartitionAccessPath, Remove-Service, Remove-SmbGlobalMapping, Remove-SmbMapping, " +
				"Remove-Variable, Rename-Item, Resize-Partition, Resolve-DnsName, Resolve-Path, Restart-Computer, " +
				"Restart-Service, Select-Object, Select-String, Select-Xml, Set-Acl, Set-Alias, Set-Content, " +
				"Set-Disk, Set-ExecutionPolicy, Set-IscsiChapSecret, Set-Item, Set-ItemProperty, Set-LocalGroup, " +
				"Set-Location, Set-NetFirewallProfile, Set-NetIPInterface, Set-Service, Set-StrictMode, " +
				"Set-TimeZone, Set-Variable, Sort-Object, Split-Path, Start-BitsTransfer, Start-Job, Start-Process, " +
				"Start-Service, Start-Sleep, Start-Transcript, Stop-Computer, Stop-Job, Stop-Process, Stop-Service, " +
				"Stop-Transcript, Tee-Object, Test-NetConnection, Test-Path, Unblock-File, Uninstall-WindowsFeature, " +
				"Unregister-Event, Unregister-IscsiSession, Update-Disk, Update-HostStorageCache, " +
				"Update-IscsiTarget, Update-IscsiTargetPortal, Wait-Event, Wait-Job, Wait-Process, Where-Object, " +
				"Write-Debug, Write-Error, Write-EventLog, Write-Host, Write-Information, Write-Output, " +
				"Write-Progress, Write-Verbose, Write-VolumeCache, Write-Warning. " +
				"Import-Module takes " +
				"names of Windows' modules whose cmdlets are here, hns.psm1 (which must be there and is not run: the cmdlets here come in its " +
				"place), files of functions, manifests and folders of them. Cmdlets for items and their properties know the registry's HKLM: and " +
				"HKCU:, without wild cards; Test-Path, Get-ChildItem, Get-Item, Set-Item and Remove-Item know env:, alias:, function: and variable:; Get-ChildItem, Get-Item, Test-Path and Remove-Item know Cert:, whose stores are those of TLS clients, without private keys. Get-Counter reads the counters of pdh.dll. " +
				"Those for disks, partitions and volumes work on a host's data disks, those for iSCSI have the disks of targets as such; C: is a volume on no disk. Get-CimInstance and Get-WmiObject read Wine's WMI, and the command lines of processes from these. Nothing filters packets for the Windows Firewall: its rules can be made, listed and removed if they allow, and others are refused. Get-WinEvent has -LogName, -ProviderName, -MaxEvents, " +
				"-FilterHashtable, -FilterXPath, -ListLog, -ListProvider and -Oldest. Add-Type takes names of assemblies, and says of code what to do; " +
				"Windows' features are there or not by their services, and none can be added; Start-BitsTransfer fetches at once; local groups are those of net localgroup, and no account can be made; " +
				"Receive-Job outputs lines of text. All have -ErrorAction, -ErrorVariable and -OutVariable, as functions with " +
				"CmdletBinding do; -Verbose and -Debug say nothing more, of -Confirm only -Confirm:$false is accepted",
		},
		{
			Name:  "Windows PowerShell, PowerShell: .NET",
			Level: support.Partly,
			Ref:   "https://learn.microsoft.com/powershell/",
			Note: "New-Object and [type]::Member of Array, ArrayList, BitConverter, Console, Convert, CultureInfo, DateTime, DateTimeOffset, Dictionary, Directory, Dns, Encoding, " +
				"Environment, Exception and those derived from it, File, FileSystemWatcher " +
				"(of folders below its own it sees in those that are made later, as Wine does), Guid, HashSet, Hashtable, HttpListener with its " +
				"requests and responses (http only), IPAddress, List, Math, Path, Process (of Start-Process), Queue, Random, Regex with Match and Group, MD5 and the SHA hashes, ScriptBlock.Create, StreamReader and StreamWriter of a request and response, Stack, Stopwatch, String, StringBuilder, Timers.Timer, TimeSpan, ServicePointManager.SecurityProtocol, Uri, Version, WebClient, WindowsIdentity and WindowsPrincipal, X509Certificate2 and X509Store, XmlDocument with XPath, the attributes of dynamic parameters, and the names of access rights and of actions on errors, " +
				"with the members that scripts mostly use (Get-Member lists them)",
		},
	}
}
