Set-Content hns.psm1 '# Invoke-HNSRequest'; ipmo ./hns.psm1
'it goes on'
