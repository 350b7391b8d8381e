[IO.Path]::GetTempPath()
