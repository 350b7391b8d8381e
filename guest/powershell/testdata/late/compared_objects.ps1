[guid]::Empty -gt 5
