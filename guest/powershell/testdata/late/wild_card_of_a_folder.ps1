mkdir d | Out-Null; $p = "d*"; Get-ChildItem $p
