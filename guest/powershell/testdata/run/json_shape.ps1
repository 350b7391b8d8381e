'{"a":[],"b":[1,"<"]}' | ConvertFrom-Json | ConvertTo-Json
