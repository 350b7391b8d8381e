$PSVersionTable
$PSVersionTable.PSVersion
$PSVersionTable.PSVersion.Major -ge 3
"$($PSVersionTable.PSVersion)"
"[$PSScriptRoot][$PSCommandPath]"
Set-Content here.ps1 'param($at = $PSScriptRoot); function f { $PSCommandPath }; "$at"; f'
./here.ps1
"[$PSScriptRoot]"
