[Reflection.Assembly]::LoadWithPartialName('x')
