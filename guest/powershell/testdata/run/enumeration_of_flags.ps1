$r = [Security.AccessControl.FileSystemRights]::Modify
$r -band 0x20000
$r.value__
$r.ToString().ToLower()
