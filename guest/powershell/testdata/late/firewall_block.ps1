New-NetFirewallRule -DisplayName x -Action Block
