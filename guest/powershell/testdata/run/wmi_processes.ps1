function ParentOf($id) { gwmi Win32_Process -Filter "ProcessId = '$id'" | % { $_.parentprocessid } }
$parent = ParentOf 12; $parent; (Get-WmiObject Win32_Process -Filter "ProcessId = '12'").CommandLine
(Get-CimInstance Win32_Process -Filter "ProcessId = '$parent'").commandline -eq $null
Get-CimInstance Win32_Process -Property Name, CommandLine; Get-WmiObject -Query 'SELECT Name, CommandLine, ProcessId FROM Win32_Process' | Format-List
