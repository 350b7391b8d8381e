[guid]::Empty + 1
