Set-NetFirewallProfile -Enabled True
