function Get-It {
  [CmdletBinding()]
  [OutputType([int])]
  [Alias()]
  param([int]$n)
  $n + 1
}
Get-It 1
[Net.ServicePointManager]::SecurityProtocol = [Net.SecurityProtocolType]::Tls12
[Net.ServicePointManager]::SecurityProtocol = 'Tls12, Tls13'
[System.Net.ServicePointManager]::SecurityProtocol = 3072
[Net.ServicePointManager]::SecurityProtocol
