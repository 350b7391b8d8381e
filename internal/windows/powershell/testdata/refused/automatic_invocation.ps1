$MyInvocation.MyCommand
