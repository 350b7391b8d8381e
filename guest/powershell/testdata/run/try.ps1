# try, catch, finally, throw
try { 'in'; [guid]::Parse('x'); 'not here' } catch { "caught: $_"; $_.Exception.Message; $_.Exception.GetType().FullName }
$_ -eq $null
try { throw 'mine' } catch { "$_ | $($_.Exception.Message) | $($_.TargetObject)" } finally { 'finally' }
try { Get-Item none -ErrorAction Stop } catch { $_.Exception.Message; $_.Exception.GetType().Name }
try { Get-Item none } catch { 'not caught' }
try { throw New-Object System.ArgumentException 'wrong' } catch [System.IO.IOException] { 'io' } catch [ArgumentException] { "argument: $($_.Exception.Message)" } catch { 'other' }
try { throw [System.InvalidOperationException]::new('state') } catch [System.SystemException] { $_.Exception.Message }
try { [IO.File]::ReadAllText('none') } catch [System.IO.FileNotFoundException] { 'inner type'; $_.Exception.InnerException.GetType().Name; $_.Exception.GetBaseException().GetType().Name }
try { try { throw 'a' } finally { 'first' } } catch { "then $_" }
try { try { throw 'a' } catch { throw 'b' } } catch { "again $_" }
try { try { throw 'a' } catch { throw } } catch { "rethrown $_" }
try { [int]'x' } catch { 'number: ' + $_.Exception.Message }
try { 1 / 0 } catch { $_.Exception.Message }
try { $null.ToString() } catch { $_.Exception.Message }
function f { try { return 'from try' } finally { 'and finally' } }; f
foreach ($i in 1..3) { try { if ($i -eq 2) { continue }; $i } finally { "end $i" } }
$r = try { 5 } catch { 6 }; $r
try { [guid]::Parse('x') } catch { $e = $_ }; $e.Exception.Message; $e.ErrorDetails
function g { [guid]::Parse('y'); 'g goes on' }
g; try { g } catch { 'g ends' }
$ErrorActionPreference = 'Stop'; try { [guid]::Parse('z') } catch { 'stopped' }; try { g } catch { 'g stopped' }
$ErrorActionPreference = 'SilentlyContinue'; [guid]::Parse('quiet'); 'quiet'
$x = New-Object System.Exception; $x.Message; "$x"; $x -is [System.Exception]; $e -is [Exception]; $e.Exception -is [FormatException]
(New-Object System.Exception 'm').ToString()
try { Write-Error 'w' -ErrorAction Stop } catch { "written: $_" }

