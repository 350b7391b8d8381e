try { [guid]::Parse('x') } catch { throw }
