'{0:hh}' -f [TimeSpan]::Zero
