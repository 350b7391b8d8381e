mkdir -force a/b | Out-Null
mkdir -Force a | Out-Null
'x' | Out-File a/one.exe
'y' | Out-File a/two.conf
mkdir to | Out-Null
Copy-Item -Path 'a/*.exe' -Destination to -Force
cp -r a to/
ls to -Name
cat to/a/two.conf
