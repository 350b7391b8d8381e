'a' | Set-Content f; Get-Content f -Tail 1 -TotalCount 1
