Set-Content hns.psm1 'function x {}'; ipmo ./hns.psm1
