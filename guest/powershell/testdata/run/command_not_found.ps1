try { no-such-program; 'never' } catch [System.Management.Automation.CommandNotFoundException] { "caught $_" }
try { no-such-program } catch { $_.Exception.GetType().FullName; $_.TargetObject }
no-such-program; "ok $?"; no-such-program | Out-Null; 'after'
