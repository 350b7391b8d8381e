cmd.exe --% /c echo
