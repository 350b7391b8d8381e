@echo off
rem A FlexVolume driver for disks of iSCSI. The options are read from the command line of this script: a batch file takes quotes apart.
setlocal
set flexvolume_command=%1
set flexvolume_folder=%2
powershell.exe -NoLogo -NoProfile -ExecutionPolicy ByPass -File "%~dpn0.ps1"
exit /b %ERRORLEVEL%
