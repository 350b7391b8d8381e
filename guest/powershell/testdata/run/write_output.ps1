Write-Output 1 two (3, 4)
'x' | Write-Output
echo 'after'
