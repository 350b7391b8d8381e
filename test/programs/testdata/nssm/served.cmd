@echo off
if exist first.txt (echo %COLOR% %SHAPE%>second.txt) else (echo %COLOR% %SHAPE%>first.txt)
ping -n 600 127.0.0.1 >nul
