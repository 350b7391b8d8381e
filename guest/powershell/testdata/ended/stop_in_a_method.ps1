$ErrorActionPreference = 'Stop'; [guid]::Parse('x')
