New-SmbGlobalMapping -RemotePath '\\files\data' -Credential me
'not run'
