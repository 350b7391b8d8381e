@echo off
rem Installs served.cmd as a service by nssm, kills its program, and takes it away again. %1 is nssm, %2 the folder.
%1 install judged C:\windows\system32\cmd.exe
%1 set judged AppParameters "/c %2\served.cmd"
%1 set judged AppDirectory %2
%1 set judged AppEnvironmentExtra COLOR=red SHAPE=round
%1 set judged AppThrottle 1
%1 set judged Description "it is judged"
%1 status judged
%1 start judged
:first
if not exist %2\first.txt goto first
%1 status judged
:kill
taskkill /f /im ping.exe >nul 2>&1
if not exist %2\second.txt goto kill
%1 status judged
%1 stop judged
%1 status judged
%1 get judged AppEnvironmentExtra
%1 remove judged confirm
rem A service that is removed is there until its last handle is closed, and nssm's own process has one.
:gone
%1 status judged >nul 2>&1
if not errorlevel 1 goto gone
%1 status judged
exit /b 0
