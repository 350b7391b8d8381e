Import-Module Hyper-V
