'aBc'.ToLower()
'aBc'.ToUpper()
(5).ToString() + 1
' x '.Trim() + '|'
'xxa'.TrimStart('x')
'axx'.TrimEnd('x')
'abc'.Contains('b')
'abc'.Equals('abc')
'5'.Equals(5)
'abc'.StartsWith('a')
'abc'.EndsWith('b')
'aba'.Replace('a', 'x')
'äb'.IndexOf('b')
'ab'.IndexOf('z')
'a,b'.Split(',')
'ä😀'.Length
