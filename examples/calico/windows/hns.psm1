# Upstream's image has Microsoft's file of this name from https://github.com/microsoft/SDN. Windows' own module has the cmdlets that Calico's scripts call.
Import-Module HostNetworkingService
