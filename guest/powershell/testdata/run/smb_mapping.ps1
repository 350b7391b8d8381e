# what kubelet.exe runs, and csi-proxy
$Env:smbuser = 'CONTOSO\me'; $Env:smbpassword = 'secret'; $Env:smbremotepath = '\\files\data'
Get-SmbGlobalMapping -RemotePath $Env:smbremotepath -ErrorAction SilentlyContinue
$PWord = ConvertTo-SecureString -String $Env:smbpassword -AsPlainText -Force;$Credential = New-Object -TypeName System.Management.Automation.PSCredential -ArgumentList $Env:smbuser, $PWord;New-SmbGlobalMapping -RemotePath $Env:smbremotepath -Credential $Credential
(Get-SmbGlobalMapping -RemotePath $Env:smbremotepath).Status
New-SmbGlobalMapping -RemotePath '\\files\more' -Credential $Credential -LocalPath G: -RequirePrivacy $false | Out-Null
Get-SmbGlobalMapping
"$PWord $Credential $($PWord.Length) $($Credential.UserName) $($Credential.GetNetworkCredential().Domain)"
$Credential.Password
Remove-SmbGlobalMapping -RemotePath $Env:smbremotepath -Force
Get-SmbGlobalMapping -RemotePath $Env:smbremotepath
(Get-SmbMapping -LocalPath g:).RemotePath
New-SmbGlobalMapping -RemotePath '\\nowhere\data' -Credential $Credential
New-SmbGlobalMapping -RemotePath '\\files\data' -Credential $Credential -RequirePrivacy $true
New-SmbMapping X: '\\files\mine' -UserName 'CONTOSO\me' -Password 'secret' -RequireIntegrity $true
Remove-SmbMapping -LocalPath X: -Force
(Get-SmbMapping).RemotePath
New-SmbMapping -LocalPath 'X:' -RemotePath '\\files\data' -UserName 'CONTOSO\me' -Password 'wrong'
New-SmbGlobalMapping -RemotePath 'C:\data'
New-SmbGlobalMapping -RemotePath '\\files\data' -Persistent $true
