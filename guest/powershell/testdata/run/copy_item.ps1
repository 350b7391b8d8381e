mkdir d | Out-Null
Set-Content d/f x
Copy-Item d/f g
cat g
Copy-Item d e
Test-Path e/f
Copy-Item d e -Recurse
Test-Path e/d/f
Copy-Item none x
Copy-Item g no/such
Copy-Item g new/
Copy-Item g g
Test-Path x
