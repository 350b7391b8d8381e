New-NetFirewallRule -DisplayName 'a|b'
