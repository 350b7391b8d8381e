$v = [version]'1.20.3'; "$v $($v.Major) $($v.Minor) $($v.Build) $($v.Revision)"; $v -gt [version]'1.3'; $v -lt '1.20.10'; $v -eq [version]'1.20.3'; $v -ne '1.20'
[version]::new(1, 2).ToString(); (New-Object System.Version 4, 5, 6, 7).ToString(2); [System.Version]::Parse('10.0.20348').CompareTo($v)
$v -is [version]; '2.0' -as [version]; $null -eq ('x' -as [version]); function f([version]$of = '1.0') { $of.Minor }; f 3.4; f
[version]'1'; [version]'1.x'; [version]'1.-2'; [version]'1.99999999999'; $v.ToString(4)
@([version]'1.10', [version]'1.9', [version]'1.2.1' | Sort-Object) -join ' '
