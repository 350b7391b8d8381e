Write-Error 'it broke'
'also this' | Write-Error
echo on
