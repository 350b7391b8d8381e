"$PSScriptRoot/x"
