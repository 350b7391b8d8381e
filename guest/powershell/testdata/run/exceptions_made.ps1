# https://learn.microsoft.com/en-us/dotnet/api/system.argumentexception
try { throw [System.ArgumentException]::new('bad', 'p') } catch [ArgumentException] { $_.Exception.Message; $_.Exception.ParamName }
try { throw (New-Object System.ArgumentNullException 'q') } catch { $_.Exception.Message; $_.Exception.HResult }
try { throw [ArgumentOutOfRangeException]::new('r', 'too far') } catch { $_.Exception.Message }
try { throw [Exception]::new('outer', [InvalidOperationException]::new('inner')) } catch { $_.Exception.InnerException.Message }
try { throw 'x' } catch { $_.Exception.Data.Count; $_.Exception.Source; $_.Exception.StackTrace -ne $null }
