function f([System.Collections.Generic.List[String]]$urls, [System.Collections.IDictionary]$headers = @{}) { $urls.Add('last'); "$($urls -join ' ') $($urls.Count) $($headers.Count)" }
f a; f a, b @{x = 1}; f @('one') ([ordered]@{a = 1; b = 2})
[System.Collections.ArrayList]$l = 1, 2; [void]$l.Add(3); $l.Count; $n = [System.Collections.Generic.List[int]]@(4); $n.Add(5); "$n"
('a-b').`
  Replace('-', '+'); 'x'.
    ToUpper()
'no newline', 'here' | Out-File -NoNewline line.txt; 'there' | Out-File line.txt -Append; Get-Content line.txt
