New-NetFirewallRule -DisplayName a -Protocol gre
