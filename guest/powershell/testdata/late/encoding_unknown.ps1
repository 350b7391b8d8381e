[System.Text.Encoding]::GetEncoding('utf-7')
