Set-Content old x
sh -c 'touch -d 2020-01-02T03:04:05 old'
Set-Content new x
(Get-Item old).LastWriteTime -lt (Get-Item new).LastWriteTime
"$((Get-Item old).LastWriteTime)"
