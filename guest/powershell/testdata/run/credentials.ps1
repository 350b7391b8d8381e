# https://learn.microsoft.com/powershell/module/microsoft.powershell.security/get-credential
$known = [pscredential]::new('me', (ConvertTo-SecureString 'x' -AsPlainText -Force))
(Get-Credential $known).UserName
(Get-Credential -Credential $known).UserName
# nobody is there to answer
Get-Credential
Get-Credential -UserName you -Message 'Who is it?'
try { Get-Credential someone -ErrorAction Stop } catch { $_.FullyQualifiedErrorId; $_.Exception.GetType().Name }
# https://learn.microsoft.com/powershell/module/microsoft.powershell.security/convertfrom-securestring
$sealed = ConvertTo-SecureString 'p w' -AsPlainText -Force | ConvertFrom-SecureString
$sealed
[pscredential]::new('me', ($sealed | ConvertTo-SecureString)).GetNetworkCredential().Password
ConvertTo-SecureString 'not sealed'
ConvertTo-SecureString '6162'
ConvertTo-SecureString 'p w' -AsPlainText
ConvertFrom-SecureString 'text'
