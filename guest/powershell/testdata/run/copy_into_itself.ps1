mkdir a | Out-Null; cp -Recurse a a
