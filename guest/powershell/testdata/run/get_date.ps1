(Get-Date).Year -gt 2000; Get-Date -Format yyyy | ForEach-Object { $_.Length }; Get-Date '2020-05-06' -Format 'dd.MM.yyyy'; (Get-Date -Date '2020-05-06 07:08').Hour; '2021-01-02' | Get-Date -Format s; ((Get-Date) - (Get-Date).AddDays(-1)).TotalHours -gt 23

