write x
gc none -EA Ignore
ac f y
type f
cpi f g
dir -Name
gci g -Name
gi f | % { $_.Name }
ri g
del f
ni h | Out-Null
erase h
md d | Out-Null
rd d
mkdir e | Out-Null
rmdir e
gl | Out-Null
sl .
pwd | Out-Null
ps 4 -EA Ignore
gps system | % { $_.Id }
sleep 0
sajb { exit 0 } | wjb | Out-Null
(gjb).State
copy none x -EA Ignore
'1' | ? { $_ } | foreach { $_ }
iex '2'
