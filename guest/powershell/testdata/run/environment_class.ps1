$env:USERNAME = 'me'; $env:NUMBER_OF_PROCESSORS = '4'
[Environment]::MachineName; [System.Environment]::UserName; [Environment]::NewLine.Length; [Environment]::ProcessorCount; [Environment]::CurrentDirectory
[Environment]::Is64BitOperatingSystem; [Environment]::Is64BitProcess; [Environment]::ExitCode; [Environment]::OSVersion.Version.Major; [Environment]::OSVersion.VersionString; "$([Environment]::OSVersion.Version)"
[Environment]::SetEnvironmentVariable('MINE', 'v'); $env:MINE; [Environment]::GetEnvironmentVariable('mine'); [Environment]::GetEnvironmentVariable('none') -eq $null; [Environment]::GetEnvironmentVariable('mine', 'Process')
[Environment]::SetEnvironmentVariable('MINE', $null, [EnvironmentVariableTarget]::Process); Test-Path env:MINE; [Environment]::ExpandEnvironmentVariables('%USERNAME%/%NONE%')
[Environment]::GetEnvironmentVariables().COMPUTERNAME
([System.Net.Dns]::GetHostByName('127.0.0.1')).AddressList[0].IPAddressToString
[System.Net.Dns]::GetHostName().Length -gt 0; [System.Net.Dns]::GetHostAddresses('127.0.0.1').IPAddressToString; [System.Net.Dns]::GetHostEntry('10.0.0.1').AddressList[0].ToString(); [System.Net.Dns]::GetHostAddresses('no.such.invalid'); 'after dns'
[Environment]::Exit(3); 'never'

