1 -eq 1
1 -ne 1
2 -gt 1
2 -ge 2
1 -lt 2
2 -le 1
'A' -ieq 'a'
'A' -ine 'a'
'A' -ceq 'a'
'A' -cne 'a'
1, 2, 3 -gt 1
'a' -in 'A', 'b'
'a' -notin 'b'
1, 2 -contains 2
1, 2 -notcontains 2
'b' -gt 'a'
$true -eq 'x'
2 -eq 2.0
