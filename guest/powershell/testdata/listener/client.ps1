# https://learn.microsoft.com/en-us/dotnet/api/system.net.sockets.tcpclient: a script waits for a server, and speaks with it.
$name, $port = $env:ADDRESS -split ':'
$c = New-Object System.Net.Sockets.TcpClient
$c.Connected; $c.Connect($name, $port); $c.Connected
try { $c.Connect($name, $port) } catch { $_.Exception.Message }
$s = $c.GetStream()
$w = New-Object System.IO.StreamWriter($s); $w.WriteLine("GET /latin HTTP/1.0`r`n"); $w.Flush()
$r = New-Object System.IO.StreamReader($s); $r.ReadLine(); $r.Close()
$c.Close(); $c.Connected
try { $c.Connect($name, $port) } catch { $_.Exception.Message }
try { (New-Object Net.Sockets.TcpClient).GetStream() } catch { $_.Exception.Message }
(New-Object Net.Sockets.TcpClient($name, $port)).Connected
$t = New-Object System.Net.Sockets.TcpClient; $t.ConnectAsync($name, $port).Wait(5000); $t.Connected; $t.Dispose()
$t = New-Object System.Net.Sockets.TcpClient; $a = $t.BeginConnect($name, $port, $null, $null)
$a.AsyncWaitHandle.WaitOne([TimeSpan]::FromSeconds(5)); $a.IsCompleted; $t.EndConnect($a); $t.Connected; $t.Close()
$up = $false
try { $n = New-Object System.Net.Sockets.TcpClient; $n.Connect('127.0.0.1', 1); $up = $true } catch { $_.Exception.InnerException.GetType().FullName; $_.Exception.Message } finally { $n.Close() }
$up
try { (New-Object System.Net.Sockets.TcpClient).ConnectAsync('127.0.0.1', 1).Wait(5000) } catch { $_.Exception.Message }
$task = (New-Object System.Net.Sockets.TcpClient).ConnectAsync('127.0.0.1', 1); while (-not $task.IsCompleted) { Start-Sleep -Milliseconds 10 }; $task.IsFaulted
try { New-Object System.Net.Sockets.TcpClient 'no.such.name.invalid', 80 } catch { $_.Exception.Message }
try { $c.Connect('127.0.0.1', 70000) } catch { $_.Exception.Message }
