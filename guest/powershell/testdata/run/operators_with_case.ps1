'a' -ceq 'A'; 'a' -cne 'A'; 'b' -cgt 'a'; 'b' -cge 'b'; 'a' -clt 'b'; 'a' -cle 'a'
'Kube' -clike 'kube*'; 'Kube' -cnotlike 'kube*'; 'Kube' -ilike 'kube*'; 'Kube' -inotlike 'x'
'Kube' -cmatch 'kube'; 'Kube' -cnotmatch 'kube'; 'Kube' -imatch 'kube'; 'K1' -cmatch '(\d)'; $Matches[1]
'a', 'B' -ccontains 'b'; 'a', 'B' -cnotcontains 'b'; 'b' -cin 'a', 'B'; 'b' -cnotin 'a', 'B'; 'a', 'B' -icontains 'b'
'aAa' -creplace 'a', 'x'; 'aAa' -ireplace 'a', 'x'; 'aXbxc' -csplit 'x'; 'aXbxc' -isplit 'x'
5 -ieq 5; 5 -ine 5; 5 -igt 4; 5 -ige 5; 4 -ilt 5; 4 -ile 4; 'a' -iin 'A'; 'a' -inotin 'A'
1 -shl 4; 256 -shr 4
5 -is [int]; 5 -is [string]; 'x' -isnot [string]; 1.5 -is [double]; (1, 2) -is [array]; { 1 } -is [scriptblock]
[DateTime]::Now -is [datetime]; $null -is [string]; [pscustomobject]@{ a = 1 } -is [pscustomobject]
[DayOfWeek]::Monday -eq 'Monday'; [ipaddress]'10.0.0.1' -eq '10.0.0.1'; [ipaddress]'10.0.0.1' -eq [ipaddress]'10.0.0.1'
$a = @{ x = 1 }; $b = $a; $a -eq $b; $a -eq @{ x = 1 }
(1, 2, 3, 4)[0, 2]; (1, 2, 3, 4)[1..2]; 'abc'[0, -1] -join ''

