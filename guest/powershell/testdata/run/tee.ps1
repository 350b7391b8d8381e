1, 2 | Tee-Object out.txt | ForEach-Object { $_ * 2 }
Get-Content out.txt
'more' | tee out.txt -Append
Get-Content out.txt
'a', 'b' | Tee-Object -Variable kept
$kept.Count
