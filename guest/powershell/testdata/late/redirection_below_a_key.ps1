cd HKLM:\SOFTWARE; echo x > rel.txt
