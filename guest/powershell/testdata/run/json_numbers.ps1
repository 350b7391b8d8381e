# https://learn.microsoft.com/powershell/module/microsoft.powershell.utility/convertto-json
1.0, 1e20, 1e15, 1e-7, 0.1, (0.1 + 0.2), 1.23456789012345678 | ConvertTo-Json -Compress
[double]::NaN, [double]::MaxValue, [double]::NegativeInfinity | ConvertTo-Json -Compress
@{t = [timespan]'1.02:03:04.5'} | ConvertTo-Json
[version]'1.2.3', [version]'1.2.3.65538' | ConvertTo-Json -Compress
@{v = [version]'1.2'; t = [timespan]'0:0:1'} | ConvertTo-Json -Depth 0 -Compress
'the script goes on'
1e308 * 10; [double]::PositiveInfinity; [double]::Epsilon -gt 0; [double]::NegativeInfinity; [math]::Log(0); -0.0
