[io.path]::GetTempPath()
