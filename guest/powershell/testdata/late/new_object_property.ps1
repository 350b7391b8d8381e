New-Object PSObject -Property 5
