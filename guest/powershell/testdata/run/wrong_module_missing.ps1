ipmo ./hns.psm1
'it goes on'
