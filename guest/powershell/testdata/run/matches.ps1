'Kubernetes v1.36.3' -match 'v([0-9])\.([0-9]+)'
($Matches.1 -as [int]) + 1
$Matches[2]
$Matches.0
'x' -as [int]
