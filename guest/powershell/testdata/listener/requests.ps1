# answers by path, with all that a request and a response have
$l = New-Object System.Net.HttpListener
$l.Prefixes.Add('http://+:8080/'); $l.IgnoreWriteExceptions = $false
$l.Start()
while ($l.IsListening) {
  $c = $l.GetContext(); $q = $c.Request; $r = $c.Response
  try {
    switch -Wildcard ($q.Url.AbsolutePath) {
      '/show' {
        $reader = New-Object System.IO.StreamReader($q.InputStream, $q.ContentEncoding)
        $lines = @($q.HttpMethod, $q.RawUrl, "$($q.Url)", $q.Headers['X-Name'], $q.UserAgent, $q.QueryString['a'], $q.QueryString['b'])
        $lines += $q.HasEntityBody, $q.ContentType, $q.ContentLength64, $q.ContentEncoding.WebName, $reader.ReadLine(), $reader.EndOfStream, $reader.ReadToEnd(), $reader.ReadLine()
        $lines += ($q.UserHostAddress -eq "$($q.LocalEndPoint)"), $q.IsLocal, $q.KeepAlive, $q.IsSecureConnection, $q.IsAuthenticated, $c.User, $q.UserHostName.Length
        $lines += $q.RemoteEndPoint.Address, ($q.RemoteEndPoint.Port -gt 0), $q.RemoteEndPoint.AddressFamily, ($q.QueryString.AllKeys -join '+'), $q.QueryString.Count, $q.QueryString.Get('a'), ($q.QueryString.GetValues('a') -join '|')
        $lines += $q.Headers.Get_Item('X-Name'), $q.Headers.Item('x-name'), $q.QueryString[0], ($q.QueryString.Keys -join '-'), $q.InputStream.CanRead, $q.InputStream.CanWrite, $q.Headers.ToString().Contains('X-Name: v')
        foreach ($name in $q.QueryString) { $lines += "key $name" }
        $reader.Close(); $reader.Dispose()
        $w = New-Object System.IO.StreamWriter($r.OutputStream)
        $r.ContentType = 'text/plain; charset=utf-8'
        $w.Write($lines[0]); foreach ($x in $lines[1..100]) { $w.WriteLine(); $w.Write("$x") }
        $w.Flush(); $w.Close(); $w.Dispose()
      }
      '/header' {
        $r.StatusCode = 404; $r.StatusDescription = 'Not Found'; $r.AddHeader('X-One', '1'); $r.AppendHeader('X-One', '2'); $r.Headers.Add('X-Two', 'two'); $r.Headers.Add('X-Three: three')
        $r.Headers['X-Four'] = 'four'; $r.Headers.Set('X-Five', 'five'); $r.Headers.Set('X-Six', 'six'); $r.Headers.Remove('X-Six'); $r.ContentEncoding = [System.Text.Encoding]::UTF8; $r.KeepAlive = $false
        $r.Close([System.Text.Encoding]::UTF8.GetBytes("$($r.StatusCode) $($r.StatusDescription) $($r.Headers['X-One']) $($r.ContentEncoding.WebName) $($r.KeepAlive) $($r.Headers.Count)"), $true)
      }
      '/redirect' { $r.Redirect('/other'); $r.RedirectLocation; $r.Close() }
      '/chunks' { $r.SendChunked = $true; $r.SendChunked; foreach ($b in 97, 98, 10) { $r.OutputStream.WriteByte($b); $r.OutputStream.Flush() }; $r.OutputStream.Close() }
      '/bytes' { $buffer = @(45, 45, 45, 45); $n = $q.InputStream.Read($buffer, 1, 3); $r.ContentLength64 = 4; $r.OutputStream.Write($buffer, 0, 4); $r.OutputStream.Dispose(); "read $n" }
      '/abort' { $r.Abort() }
      '/nothing' { $r.StatusCode = 204; $r.Dispose(); $r.Close() }
      '/wrong' {
        $r.ContentLength64 = 2
        foreach ($do in { $r.Close() }, { $r.OutputStream.Write((1, 2, 3), 0, 3) }, { $r.StatusCode = 5 }, { $r.ContentLength64 = -1 }, { $r.AddHeader('Content-Length', '5') }, { $r.AddHeader('a b', '5') },
            { $r.AddHeader('a', "x`ny") }, { $r.Headers.Add('none') }, { $q.Headers.Add('a', 'b') }, { $q.InputStream.Write((1, 2), 0, 1) }, { $r.OutputStream.Read((1, 2), 0, 1) }, { $r.OutputStream.Write((1, 2), 1, 2) }, { $q.Url = 5 }, { $q.Headers.Remove('a') }) {
          try { & $do } catch { $_.Exception.Message }
        }
        $r.OutputStream.Write((79, 75), 0, 2); $r.Close()
        foreach ($do in { $r.StatusCode = 200 }, { $r.OutputStream.Write((1, 2), 0, 1) }, { $r.Redirect('/x') }) { try { & $do } catch { $_.Exception.Message } }
        $r.Close()
      }
      '/end' { $r.Close(); $l.Stop() }
      default { $r.Close((72, 105), $false) }
    }
  } catch { "error: $_"; $r.Abort() }
}
"stopped $($l.IsListening) $($l.Prefixes.Count)"
$l.Close(); $l.Close()
