# https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_classes_inheritance
class MyError : System.Exception {
    [int]$Code
    MyError([string]$message, [int]$code) : base($message) { $this.Code = $code }
    [string] Said() { return "$($this.Message) $($this.Code)" }
}
class Deeper : MyError { Deeper() : base('deep', 9) { } }
class OfArgument : ArgumentException { OfArgument([string]$m, [string]$p) : base($m, $p) { } }
class Outer : System.Exception { Outer([Exception]$inner) : base('outer', $inner) { } }
class Bare : Exception { }
try { throw [MyError]::new('bad', 7) } catch [MyError] { "$($_.Exception.Message) $($_.Exception.Code) $($_.Exception.GetType().Name)"; $_.Exception.Said() }
try { throw [Deeper]::new() } catch [MyError] { "as MyError $($_.Exception.Code)" }
try { throw [Deeper]::new() } catch [System.IO.IOException] { 'no' } catch [System.Exception] { "as Exception $($_.Exception.Message)" }
try { throw [OfArgument]::new('m', 'p') } catch [System.ArgumentException] { $_.Exception.ParamName; $_.Exception.Message }
try { throw [Outer]::new([InvalidOperationException]::new('in')) } catch { $_.Exception.InnerException.Message; $_.Exception.GetBaseException().Message }
try { throw [Bare]::new() } catch { $_.Exception.Message; "$($_.CategoryInfo)" }
[Deeper]::new() -is [Exception]; [Deeper]::new() -is [MyError]; [Deeper]::new() -is [ArgumentException]; [OfArgument]::new('m', 'p') -is [ArgumentException]
$e = [MyError]::new('kept', 1); $e.Code = 3; $e.Said(); $e.HResult; $e.InnerException
trap [MyError] { "trapped $($_.Exception.Code)"; continue }
throw [MyError]::new('last', 5)
'after'
