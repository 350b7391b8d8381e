[Environment]::FailFast('x')
