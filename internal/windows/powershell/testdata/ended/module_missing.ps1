ipmo ./hns.psm1
