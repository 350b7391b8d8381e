[System.Text.Encoding]::UTF8.GetString((1, 256))
'it goes on'
