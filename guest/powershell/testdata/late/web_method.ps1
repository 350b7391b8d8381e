Invoke-RestMethod http://x/ -Method Nothing
