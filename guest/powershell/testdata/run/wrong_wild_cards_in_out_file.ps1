$p = '*'; 'x' | Out-File $p
'it goes on'
