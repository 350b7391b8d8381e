sh @args
