$s = 1, 'two' | Out-String
$s.Length
Out-String -InputObject x
