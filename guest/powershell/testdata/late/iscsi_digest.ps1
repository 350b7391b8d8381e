Connect-IscsiTarget -NodeAddress iqn.2026-11.test:open -IsHeaderDigest $true
