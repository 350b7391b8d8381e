Join-Path /a b
Join-Path /a/ /b/c
Join-Path -Path a, b -ChildPath ''
'x' | Join-Path -ChildPath y
Split-Path /a/b/c
Split-Path /a/b/c/ -Leaf
Split-Path /a
Split-Path /
"[$(Split-Path a)]"
Split-Path / -Leaf
Split-Path C:\Windows\System32 -Qualifier
Split-Path C:\Windows\System32 -NoQualifier
Split-Path -Parent C:\Windows
Split-Path C:x
Split-Path a/b -IsAbsolute
Split-Path C:\ -IsAbsolute
Split-Path a -Qualifier
'/x/y', '/x/z' | Split-Path -Leaf
