Get-Variable -Scope private
