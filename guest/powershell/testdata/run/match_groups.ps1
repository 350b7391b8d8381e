'ab12' -match '(?<word>[a-z]+)(\d)(\d)'
$Matches.word
$Matches[1]
$Matches[2]
$Matches[0]
'x' -notmatch 'y'
$Matches[0]
'x' -notmatch 'X'
$Matches[0]
'a', 'b', 'ab' -match 'a'
