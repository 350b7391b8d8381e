ConvertFrom-StringData 'no'
ConvertFrom-StringData "a=1`na=2"
$b = 1; Invoke-Command $b
