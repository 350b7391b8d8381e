if (-not(Test-Path $env:HOME\no\such)) { throw "Cannot find it" }
