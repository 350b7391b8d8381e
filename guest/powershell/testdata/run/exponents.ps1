# https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_numeric_literals
1e-7
(0.1,1E-7,2.5e-3)[2]
1e-2*100
1e+3-1
0x1e-7; 0x1e+1
.5; -.5e-1
[int]1e+2
if (1e-3 -lt .01) { 'less' }
